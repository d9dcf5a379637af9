"""Bridle: in memory, or on its SQLite journal with either durability; capped or not."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from importlib import import_module
from pathlib import Path

from bench.contenders.step_work import TEXT, add_up, arguments_of, begin_request, measure
from bridle import Runtime, RuntimeConfig, tool
from bridle.config.settings import Behavior, JournalSettings, LimitSettings, Settings, TreeSettings
from bridle.core.agent import AgentDefinition, ModelInfo
from bridle.core.states import Usage
from bridle.core.stream import ModelRequest, StepEnd, StreamEnd, StreamEvent, TextDelta, ToolCall

MODE = sys.argv[sys.argv.index("--mode") + 1]
CAPPED = "--capped" in sys.argv
if MODE != "memory":
    # As those of others: what is imported belongs to the start.
    import_module("bridle.journal.sqlite")


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


class FakeModel:
    info = ModelInfo("fake")

    def __init__(self, steps: int) -> None:
        self.steps = steps

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        number = begin_request()
        yield TextDelta(TEXT if number <= self.steps else "done")
        if number <= self.steps:
            yield ToolCall("add", json.dumps(arguments_of(number)), f"call_{number}")
        yield StepEnd("stop", Usage(100, 50))
        yield StreamEnd()


async def converse(steps: int, data: Path) -> str:
    high = 10 * steps
    settings = Settings(
        behavior=Behavior(max_steps=high if CAPPED else None, ceiling=high),
        limits=LimitSettings(*((high, high * 1_000, None, 10_000.0) if CAPPED else (None,))),
        tree=TreeSettings(steps=high if CAPPED else None),
        journal=JournalSettings(durability="process" if MODE == "process" else "power"),
    )
    async with Runtime(
        RuntimeConfig(
            journal=None if MODE == "memory" else data / "journal.db",
            settings=settings,
            models={"fake": FakeModel(steps)},
            tools=[add],
            agents=[AgentDefinition("build", model="fake")],
            directory=data,
        )
    ) as runtime:
        session = await runtime.create()
        result = await runtime.wait(session, await runtime.prompt(session, "Add."))
    return result.text


def main(steps: int, data: Path) -> str:
    return asyncio.run(converse(steps, data))


if __name__ == "__main__":
    measure("bridle", main)
