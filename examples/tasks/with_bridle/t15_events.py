"""Log what an agent does as it happens, and what it used."""

import asyncio

from bridle import Agent, ScriptedModel, ToolUseEvent, call


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def main() -> list[str]:
    agent = Agent(model=ScriptedModel([call("add", a=1, b=2), "It is 3."]), tools=[add])
    async with agent.stream("1 + 2?") as stream:
        done = [str(event.output) async for event in stream if isinstance(event, ToolUseEvent) and event.output]
    return [*done, f"{stream.result.usage.input} tokens read"]


assert asyncio.run(main()) == ["3", "20 tokens read"]
