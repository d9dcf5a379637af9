"""Run another agent inside a tool; its use counts for the outer run."""

from bridle import Agent, Context, ScriptedModel, call

writer = Agent("writer", model=ScriptedModel(["A whale of a time."]))


async def slogan(ctx: Context, place: str) -> str:
    """Write a slogan for a place."""
    return (await ctx.run(writer, f"A slogan for {place}.")).output


agent = Agent(model=ScriptedModel([call("slogan", place="Bergen"), "Done."]), tools=[slogan])
result = agent.run_sync("Advertise Bergen.")
assert (result.output, result.usage.input) == ("Done.", 30)
