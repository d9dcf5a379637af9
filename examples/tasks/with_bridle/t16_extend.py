"""Raise a limit while a run goes on."""

import asyncio

from bridle import Agent, Limits, ScriptedModel, call

looked, extended = asyncio.Event(), asyncio.Event()


async def look(page: int) -> str:
    """Look at a page."""
    looked.set()
    await extended.wait()
    return f"page {page}"


model = ScriptedModel([*(call("look", page=page) for page in range(3)), "Found."])
agent = Agent(model=model, tools=[look], limits=Limits(steps=2))


async def main() -> str:
    async with agent.runtime() as runtime:
        session = await runtime.create()
        prompt = await runtime.prompt(session, "Find it.", options=agent.turn_options)
        await looked.wait()
        await runtime.extend(session, "steps", 3)
        extended.set()
        return (await runtime.wait(session, prompt)).text


assert asyncio.run(main()) == "Found."
