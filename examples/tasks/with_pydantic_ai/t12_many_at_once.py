"""200 runs of one agent at once."""

import asyncio

from pydantic_ai import Agent
from scripted import scripted

agent = Agent(scripted(lambda messages, info: messages[-1].parts[0].content.upper()))


async def main() -> list[str]:
    results = await asyncio.gather(*(agent.run(f"run {number}") for number in range(200)))
    return [result.output for result in results]


assert asyncio.run(main()) == [f"RUN {number}" for number in range(200)]
