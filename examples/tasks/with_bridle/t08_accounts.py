"""A budget for each tenant and day, over all runs and processes."""

import asyncio

from bridle import Agent, Budget, Limits, Price, ScriptedModel

model = ScriptedModel(lambda request: "Done.", price=Price(input=3.0, output=15.0))
agent = Agent(model=model, journal="tenants.db")


async def main() -> list[str]:
    async with agent.runtime() as runtime:
        await runtime.set_budget("tenant-7", Budget(daily=Limits(cost=1.0)))
        await runtime.set_budget("tenant-8", Budget(daily=Limits(cost=0.001)))
    results = [await agent.run("Do it.", account=account) for account in ("tenant-7", "tenant-8")]
    return [result.reason for result in results]


assert asyncio.run(main()) == ["answered", "cost_budget"]
