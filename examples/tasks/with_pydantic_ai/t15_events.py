"""Log what an agent does as it happens, and what it used."""

import asyncio

from pydantic_ai import Agent, FunctionToolResultEvent
from scripted import call, scripted


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def main() -> list[str]:
    agent = Agent(scripted([call("add", a=1, b=2), "It is 3."]), tools=[add])
    async with agent.run_stream_events("1 + 2?") as events:
        done = [str(event.part.content) async for event in events if isinstance(event, FunctionToolResultEvent)]
    return [*done, f"{events.usage.requests} requests"]


assert asyncio.run(main()) == ["3", "2 requests"]
