"""Read a typed answer while it grows."""

import asyncio
from dataclasses import dataclass

from bridle import Agent, Reply, ScriptedModel, call


@dataclass
class Story:
    title: str
    words: int


async def main() -> list[object]:
    model = ScriptedModel([Reply(calls=(call("structured_output", title="A whale", words=3),), chunk=9, pace=0.01)])
    async with Agent(model=model, output=Story).stream("Tell a story.") as stream:
        return [output async for output in stream.outputs()]


outputs = asyncio.run(main())
assert len(outputs) > 1 and outputs[-1] == Story("A whale", 3)
