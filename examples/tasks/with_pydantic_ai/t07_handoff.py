"""Hand a conversation over to another agent, which answers."""

from pydantic_ai import Agent, RunContext
from scripted import call, scripted

billing = Agent(scripted(["It is paid."]), name="billing")


async def transfer_to_billing(ctx: RunContext) -> str:
    """Knows bills."""
    return (await billing.run(message_history=ctx.messages[:-1], usage=ctx.usage)).output


triage = Agent(scripted([call("final_result")]), output_type=[transfer_to_billing, str])
result = triage.run_sync("Is my bill paid?")
assert (result.output, result.usage.requests) == ("It is paid.", 2)
