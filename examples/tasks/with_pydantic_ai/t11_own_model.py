"""A model of one's own, which streams."""

import asyncio
from collections.abc import AsyncIterator

from pydantic_ai import Agent, ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel


async def echo(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
    for word in messages[-1].parts[0].content.split():
        yield f"{word} "


async def main() -> list[str]:
    async with Agent(FunctionModel(stream_function=echo)).run_stream("Hello from Bergen.") as response:
        return [piece async for piece in response.stream_text(delta=True)]


assert "".join(asyncio.run(main())) == "Hello from Bergen. "
