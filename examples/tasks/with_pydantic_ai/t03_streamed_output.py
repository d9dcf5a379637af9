"""Read a typed answer while it grows."""

import asyncio
from dataclasses import dataclass

from pydantic_ai import Agent
from scripted import call, scripted


@dataclass
class Story:
    title: str
    words: int = 0


async def main() -> list[object]:
    model = scripted([call("final_result", title="A whale", words=3)])
    async with Agent(model, output_type=Story).run_stream("Tell a story.") as response:
        return [output async for output in response.stream_output(debounce_by=None)]


outputs = asyncio.run(main())
assert len(outputs) > 1 and outputs[-1] == Story("A whale", 3)
