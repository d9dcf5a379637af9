"""Abort a run from elsewhere, and read what was done until then."""

import asyncio

from bridle import Agent, ScriptedModel, call

started = asyncio.Event()


async def look() -> str:
    """Look."""
    return "nothing"


async def wait() -> str:
    """Wait."""
    started.set()
    await asyncio.sleep(60)
    return "waited"


agent = Agent(model=ScriptedModel([call("look"), call("wait")]), tools=[look, wait], journal="abort.db")


async def main() -> list[str]:
    async with agent.runtime() as runtime:
        run = asyncio.create_task(agent.run("Look around.", id="look"))
        await started.wait()
        await runtime.abort("look")
        result = await run
    return [result.reason, result.messages[2].text]


assert asyncio.run(main()) == ["aborted", "nothing"]
