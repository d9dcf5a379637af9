"""Two subagents at once, under one budget for all of them."""

from pydantic_ai import Agent, RunContext, UsageLimits
from scripted import call, scripted

scout = Agent(scripted(["Found it."]), name="scout")
limits = UsageLimits(request_limit=10)


async def task(ctx: RunContext, prompt: str) -> str:
    """Start a scout, which looks things up."""
    return (await scout.run(prompt, usage=ctx.usage, usage_limits=limits)).output


start = call("task", prompt="Look it up.")
lead = Agent(scripted([[start, start], "Both found it."]), tools=[task])
result = lead.run_sync("Find it twice.", usage_limits=limits)
assert (result.output, result.usage.requests) == ("Both found it.", 4)
