"""Exported sessions that await a person, and the runtimes that they come from and go to."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bridle import Rule, Runtime, RuntimeConfig, ScriptedModel, call, tool
from bridle.core.agent import AgentDefinition, Price
from bridle.core.inbox import TurnOptions
from bridle.runtime.transfer import export_session
from bridle.testing.scripted import Scripted

ran: list[str] = []


repeatable: Callable[[Callable[..., Any]], Any] = tool(repeatable=True)


@repeatable
def touch(name: str) -> str:
    """Touch something."""
    ran.append(name)
    return "touched"


REPLIES: Sequence[Scripted] = (call("touch", name="x"), "Done.")


def runtime_in(directory: Path, *rules: Rule, replies: Sequence[Scripted] = REPLIES, **more: Any) -> Runtime:
    agents = [AgentDefinition("build", model="m", permission=rules or (Rule("python", "*", "ask"),))]
    model = ScriptedModel(list(replies), price=Price(1.0, 1.0))
    return Runtime(RuntimeConfig(directory=directory, models={"m": model}, agents=agents, tools=[touch], **more))


async def paused(directory: Path, *rules: Rule) -> Any:
    """A session that awaits a person, as it is exported."""
    async with runtime_in(directory, *rules) as runtime:
        session = await runtime.create("ses_one")
        prompt = await runtime.prompt(session, "go", id="prm", options=TurnOptions(on_ask="pause"))
        assert (await runtime.wait(session, prompt)).reason == "paused"
        return json.loads(await export_session(runtime, session))


def events(bundle: Any) -> list[Any]:
    return [event for entry in bundle["sessions"][0]["entries"] for event in entry["events"]]


def part(bundle: Any, kind: str) -> Any:
    return next(event["part"] for event in events(bundle) if event["event"] == "put" and event["part"]["kind"] == kind)


def asking(bundle: Any) -> Any:
    (event,) = [event for event in events(bundle) if event["event"] == "call"]
    assert event["state"]["type"] == "asking"
    return event
