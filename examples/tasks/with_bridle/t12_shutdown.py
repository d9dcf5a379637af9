"""Shut down with 50 runs under way: each turn has a recorded ending."""

import asyncio

from bridle import Agent, Reply, ScriptedModel

model = ScriptedModel([Reply(hang=True)])
agent = Agent(model=model, journal="shutdown.db")


async def main() -> list[str]:
    runs = [asyncio.create_task(agent.run("Wait.", id=f"run_{number}")) for number in range(50)]
    while len(model.requests) < 50:
        await asyncio.sleep(0.01)
    for run in runs:
        run.cancel()
    await asyncio.wait(runs)
    # The same id again returns the first result.
    return [(await agent.run("Wait.", id=f"run_{number}")).reason for number in range(50)]


assert asyncio.run(main()) == ["aborted"] * 50
