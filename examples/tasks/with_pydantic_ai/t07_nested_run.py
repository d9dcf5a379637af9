"""Run another agent inside a tool; its use counts for the outer run."""

from pydantic_ai import Agent, RunContext
from scripted import call, scripted

writer = Agent(scripted(["A whale of a time."]))


async def slogan(ctx: RunContext, place: str) -> str:
    """Write a slogan for a place."""
    return (await writer.run(f"A slogan for {place}.", usage=ctx.usage)).output


agent = Agent(scripted([call("slogan", place="Bergen"), "Done."]), tools=[slogan])
result = agent.run_sync("Advertise Bergen.")
assert (result.output, result.usage.requests) == ("Done.", 3)
