"""A turn with hooks, and what they were given."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bridle import Agent, Runtime, ScriptedModel
from bridle.config.settings import Settings
from bridle.core.hook import HookSettings
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Call, Notice
from bridle.core.result import Result
from bridle.core.session import Session
from bridle.library.tool import PlainTool
from bridle.tools.tool import Tool
from support.stories import TOOLS


async def told(
    folder: Path,
    model: ScriptedModel,
    hooks: Iterable[dict[str, Any]],
    *,
    people: Callable[[Runtime, str], Awaitable[object]] | None = None,
    tools: Sequence[PlainTool[..., Any] | Tool] = TOOLS,
    **more: Any,
) -> tuple[Session, Result]:
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


def hook(folder: Path, on: str, ending: str = "true", **more: Any) -> dict[str, Any]:
    """A hook that writes down what it was given, and ends as told."""
    return {"on": on, "command": f"cat >> {folder}/given; echo >> {folder}/given; {ending}", **more}


def given(folder: Path) -> list[Any]:
    return [msgspec.json.decode(line) for line in (folder / "given").read_text().splitlines()]


def calls(session: Session) -> list[Call]:
    return [part for part in session.parts.values() if isinstance(part, Call)]


def said(session: Session) -> list[str]:
    return [part.text for part in session.parts.values() if isinstance(part, Notice) and part.about == "hook"]
