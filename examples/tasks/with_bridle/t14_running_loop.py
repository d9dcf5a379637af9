"""Run an agent from synchronous code inside a running event loop, as in a notebook."""

import asyncio

from bridle import Agent, ScriptedModel

agent = Agent(model=ScriptedModel(["Hello."]))


async def cell() -> str:
    return agent.run_sync("Hi").output


assert asyncio.run(cell()) == "Hello."
