"""pydantic-ai: usage limits on a run, and delegation by a tool that passes the usage on."""

import asyncio
from decimal import Decimal

from pydantic_ai import Agent, RunContext, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from bench.contenders.limit_work import PROMPT, Ask, report

KNOWN_MODEL = "gpt-4-turbo"
"""Costs go by the prices of known models, and this one's come next to those of the rows."""


def bounds(steps: int | None, limits: dict) -> UsageLimits:
    cost = limits.get("cost")
    return UsageLimits(
        request_limit=steps,
        tool_calls_limit=limits.get("tool_calls"),
        total_tokens_limit=limits.get("tokens"),
        cost_limit=None if cost is None else Decimal(str(cost)),
    )


async def work(ask: Ask) -> str:
    name = KNOWN_MODEL if "cost" in ask.limits else "scripted"
    model = OpenAIChatModel(name, provider=OpenAIProvider(base_url=ask.address, api_key="none"))
    limits, tree = ask.limits, ask.limits.get("tree_steps")

    async def act(note: str) -> str:
        """Do something that leaves an effect."""
        return await asyncio.to_thread(ask.act, note)

    worker = Agent(model, tools=[act])

    async def child(context: RunContext[None], prompt: str) -> str:
        """Let somebody else do it."""
        # One usage for both is how the documentation counts a whole tree.
        usage = context.usage if tree else None
        own = bounds(tree or limits["child_steps"], {})
        return (await worker.run(prompt, usage=usage, usage_limits=own)).output

    agent = Agent(model, tools=[act, child] if "child_steps" in limits else [act])
    return (await agent.run(PROMPT, usage_limits=bounds(tree or limits.get("steps"), limits))).output


def converse(ask: Ask) -> tuple[str, str]:
    return asyncio.run(work(ask)), "finished"


if __name__ == "__main__":
    report("pydantic-ai-slim", converse)
