"""200 runs of one agent at once."""

import asyncio

from bridle import Agent, ScriptedModel

agent = Agent(model=ScriptedModel(lambda request: request.messages[-1].text.upper()))


async def main() -> list[str]:
    results = await asyncio.gather(*(agent.run(f"run {number}") for number in range(200)))
    return [result.output for result in results]


assert asyncio.run(main()) == [f"RUN {number}" for number in range(200)]
