"""Abort a run from elsewhere, and read what was done until then."""

import asyncio

from pydantic_ai import Agent, CancellationToken, RunCancelled
from scripted import call, scripted

started = asyncio.Event()


async def look() -> str:
    """Look."""
    return "nothing"


async def wait() -> str:
    """Wait."""
    started.set()
    await asyncio.sleep(60)
    return "waited"


agent = Agent(scripted([call("look"), call("wait")]), tools=[look, wait])


async def main() -> list[str]:
    token = CancellationToken()
    run = asyncio.create_task(agent.run("Look around.", cancellation_token=token))
    await started.wait()
    token.cancel()
    try:
        return ["answered", (await run).output]
    except RunCancelled as cancelled:
        return ["aborted", cancelled.all_messages()[2].parts[0].content]


assert asyncio.run(main()) == ["aborted", "nothing"]
