"""500 inputs under one budget, with a progress bar. Plays a script: no key is needed."""

import asyncio
from collections import Counter
from typing import Literal

from rich.console import Console
from rich.progress import Progress

from bridle import Agent, Budget, Limits, ModelRequest, Price, Reply, Result, ScriptedModel, call

Mood = Literal["good", "bad"]


def script(request: ModelRequest) -> Reply:
    mood = "bad" if "late" in request.messages[-1].text else "good"
    return Reply(calls=(call("structured_output", value=mood),), delay=0.01)


agent = Agent(
    "moods",
    model=ScriptedModel(script, price=Price(input=2.0, output=8.0), max_output_tokens=50),
    instructions="Say whether the review is good or bad.",
    output=Mood,
    limits=Limits(steps=2),
)
reviews = [f"Review {number}: it came {'late' if number % 3 else 'in time'}." for number in range(500)]


async def main() -> list[Result[Mood]]:
    at_once = asyncio.Semaphore(20)
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("reviews", total=len(reviews))

        async def rate(review: str) -> Result[Mood]:
            async with at_once:
                # With `id=` a batch that was killed runs again without paying twice, if the agent has a journal.
                result = await agent.run(review, account="reviews")
            progress.advance(bar)
            return result

        async with agent, agent.runtime() as runtime:
            # The greatest cost of each request is reserved first, so runs at the same time never exceed it together.
            await runtime.set_budget("reviews", Budget(daily=Limits(cost=0.10)))
            return await asyncio.gather(*map(rate, reviews))


results = asyncio.run(main())
moods = Counter(result.output if result.reason == "answered" else result.reason for result in results)
cost = sum(result.cost for result in results)
print("answered:", ", ".join(f"{count} {mood}" for mood, count in moods.most_common()), f"for ${cost:.4f}")
