"""A turn with hooks, and what they were given."""

import msgspec

from bridle import Agent
from bridle.config.settings import HookSettings, Settings
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Call, Notice
from support.stories import TOOLS


async def told(folder, model, hooks, *, people=None, tools=TOOLS, **more):
    """Run one prompt with hooks; the session, and how the prompt ended."""
    settings = Settings(hooks=[HookSettings(**hook) for hook in hooks])
    agent = Agent("build", model=model, tools=tools, settings=settings, directory=folder, **more)
    async with agent.runtime() as runtime:
        session = await runtime.create()
        id = await runtime.prompt(session, "go", options=TurnOptions(on_ask="pause"))
        if people is not None:
            await people(runtime, session)
        result = await runtime.wait(session, id)
        return await runtime.load(session), result


def hook(folder, on, ending="true", **more):
    """A hook that writes down what it was given, and ends as told."""
    return {"on": on, "command": f"cat >> {folder}/given; echo >> {folder}/given; {ending}", **more}


def given(folder):
    return [msgspec.json.decode(line) for line in (folder / "given").read_text().splitlines()]


def calls(session):
    return [part for part in session.parts.values() if isinstance(part, Call)]


def said(session):
    return [part.text for part in session.parts.values() if isinstance(part, Notice) and part.about == "hook"]
