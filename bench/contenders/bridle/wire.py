"""Bridle over HTTP: its adapter alone, or whole turns in memory and on SQLite, watched or not."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

from bench.contenders.wire_work import add_up, flag, hand, measure
from bridle import Runtime, RuntimeConfig, tool
from bridle.config.settings import Behavior, LimitSettings, Settings, TreeSettings
from bridle.core.agent import AgentDefinition, ModelInfo
from bridle.core.events import PartDelta
from bridle.core.messages import Messages, UserMessage
from bridle.core.stream import ModelRequest, StreamEvent, TextDelta
from bridle.model.http import Lane
from bridle.model.openai_chat import ChatModel

STEPS = 10_000
MODEL = ModelInfo("m", context_window=1_000_000, max_output_tokens=200_000)
"""Allows the longest reply: Bridle cuts replies off that are much longer than they may be."""
MODE = flag("--mode", "memory")
WATCHED = "--watched" in sys.argv
RECORD = flag("--record")


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


class RecordedModel(ChatModel):
    """Keeps every body that it sends, one in a line."""

    def body(self, request: ModelRequest) -> bytes:
        made = super().body(request)
        with Path(RECORD).open("ab") as file:
            file.write(made + b"\n")
        return made


async def drain(events: AsyncIterator[StreamEvent]) -> str:
    return "".join([event.text async for event in events if isinstance(event, TextDelta)])


async def turn(model: ChatModel, data: Path) -> str:
    async with Runtime(
        RuntimeConfig(
            journal=data / "journal.db" if MODE == "sqlite" else None,
            settings=Settings(
                behavior=Behavior(ceiling=STEPS),
                limits=LimitSettings(tool_calls=None),
                tree=TreeSettings(steps=None),
            ),
            models={"m": model},
            tools=[add],
            agents=[AgentDefinition("build", model="m")],
            directory=data,
        )
    ) as runtime:
        session = await runtime.create()
        prompt = await runtime.prompt(session, "Go.")
        if WATCHED:
            async for event in runtime.stream(session, prompt):
                if isinstance(event, PartDelta):
                    hand(event.text)
        return (await runtime.wait(session, prompt)).text


async def converse(address: str, data: Path) -> str:
    lane = Lane(address, dict)
    model = (RecordedModel if RECORD else ChatModel)(lane, "m", MODEL)
    try:
        if MODE != "adapter":
            return await turn(model, data)
        messages = Messages([UserMessage("1", "Go.")])
        return await drain(model.stream(ModelRequest("1", "1", "step", "m", "", messages, (), "auto", 8_192, {})))
    finally:
        await lane.close()


if __name__ == "__main__":
    measure("bridle", converse, watched=WATCHED)
