"""Bridle: without a journal, or on a SQLite journal."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from bench.contenders.batch_work import ANSWER, ARGUMENTS, Run, add_up, measure
from bridle import Agent, tool
from bridle.core.agent import ModelInfo
from bridle.core.states import Usage
from bridle.core.stream import ModelRequest, StepEnd, StreamEnd, StreamEvent, TextDelta, ToolCall

SQLITE = "--sqlite" in sys.argv


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


class FakeModel:
    info = ModelInfo("fake")

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        if len(request.messages) == 1:
            yield ToolCall("add", json.dumps(ARGUMENTS), "call_1")
        else:
            yield TextDelta(ANSWER)
        yield StepEnd("stop", Usage(100, 50))
        yield StreamEnd()


def make(data: Path) -> Run:
    agent = Agent("adder", model=FakeModel(), tools=[add], journal=data / "journal.db" if SQLITE else None)

    async def run() -> str:
        return (await agent.run("Add.")).output

    return run


if __name__ == "__main__":
    measure("bridle", make)
