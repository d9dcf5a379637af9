"""An exported session with thousands of parts, made in memory: turns of many steps, each with many calls."""

import asyncio
from pathlib import Path

from bridle import Limits, Runtime, RuntimeConfig, ScriptedModel, call, tool
from bridle.core.agent import AgentDefinition
from bridle.journal.memory import MemoryJournal
from bridle.runtime.transfer import export_session
from bridle.testing.scripted import Scripted


@tool
def look(place: int) -> str:
    """Look at a place."""
    return f"This is what stands at place {place}."


def long_export(directory: Path, *, turns: int, steps: int, calls: int) -> bytes:
    """Return a session of this directory as one JSON document."""
    return asyncio.run(_made(directory, turns, steps, calls))


async def _made(directory: Path, turns: int, steps: int, calls: int) -> bytes:
    replies: list[Scripted] = []
    for turn in range(turns):
        first = turn * steps * calls
        replies += [[call("look", place=first + step * calls + each) for each in range(calls)] for step in range(steps)]
        replies.append(f"Turn {turn + 1} has ended.")
    agent = AgentDefinition("build", model="m", limits=Limits(tool_calls=steps * calls + 1))
    config = RuntimeConfig(
        directory=directory,
        models={"m": ScriptedModel(replies)},
        agents=[agent],
        tools=[look],
        journal=MemoryJournal(),
    )
    async with Runtime(config) as runtime:
        session = await runtime.create()
        for turn in range(turns):
            prompt = await runtime.prompt(session, f"Begin turn {turn + 1}.")
            found = await runtime.wait(session, prompt)
            assert (found.reason, found.steps) == ("answered", steps + 1), found
        return await export_session(runtime, session)
