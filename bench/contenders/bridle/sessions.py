"""Bridle: sessions on a journal on PostgreSQL, or in a SQLite file, with the default durability."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.contenders.session_work import ANSWER, TEXT, Run, Work, add_up, arguments_of, measure
from bridle import Runtime, RuntimeConfig, tool
from bridle.config.settings import Behavior, LimitSettings, Settings, TreeSettings
from bridle.core.agent import AgentDefinition, ModelInfo
from bridle.core.states import Usage
from bridle.core.stream import ModelRequest, StepEnd, StreamEnd, StreamEvent, TextDelta, ToolCall

SQLITE = "--sqlite" in sys.argv
MOST_STEPS = 10_000


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


class FakeModel:
    info = ModelInfo("fake")

    def __init__(self, steps: int) -> None:
        self.steps = steps

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        done = len(request.messages) // 2
        yield TextDelta(TEXT if done < self.steps else ANSWER)
        if done < self.steps:
            yield ToolCall("add", json.dumps(arguments_of(done)), f"call_{done}")
        yield StepEnd("stop", Usage(100, 50))
        yield StreamEnd()


@asynccontextmanager
async def opened(work: Work) -> AsyncIterator[Run]:
    settings = Settings(
        behavior=Behavior(ceiling=MOST_STEPS), limits=LimitSettings(tool_calls=None), tree=TreeSettings(steps=None)
    )
    config = RuntimeConfig(
        journal=work.data / "journal.db" if SQLITE else work.database,
        settings=settings,
        models={"fake": FakeModel(work.steps)},
        tools=[add],
        agents=[AgentDefinition("build", model="fake")],
        directory=work.data,
    )
    async with Runtime(config) as runtime:

        async def run(name: str) -> str:
            session = await runtime.create()
            return (await runtime.wait(session, await runtime.prompt(session, "Add."))).text

        yield run


if __name__ == "__main__":
    measure("bridle", opened)
