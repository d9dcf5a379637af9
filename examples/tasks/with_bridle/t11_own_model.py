"""A model of one's own, which streams."""

import asyncio
from collections.abc import AsyncIterator

from bridle import Agent, FunctionModel, ModelRequest


async def echo(request: ModelRequest) -> AsyncIterator[str]:
    for word in request.messages[-1].text.split():
        yield f"{word} "


async def main() -> list[str]:
    async with Agent(model=FunctionModel(echo)).stream("Hello from Bergen.") as stream:
        return [piece async for piece in stream.text()]


assert "".join(asyncio.run(main())) == "Hello from Bergen. "
