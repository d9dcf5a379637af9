"""Hooks around calls: refuse a call, change its arguments, hide a part of its output."""

from pydantic_ai import Agent, ToolFailed
from pydantic_ai.capabilities import Hooks
from scripted import call, scripted


def pay(to: str, amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount} to {to}, reference 4711"


async def guard(ctx, *, call, tool_def, args):
    if args["to"] == "Mallory":
        raise ToolFailed("Mallory gets nothing")
    return {**args, "amount": min(args["amount"], 50)}


async def hide(ctx, *, call, tool_def, args, result):
    return result.replace("4711", "****")


model = scripted([[call("pay", to="Ann", amount=500), call("pay", to="Mallory", amount=1)], "Done."])
agent = Agent(model, tools=[pay], capabilities=[Hooks(before_tool_execute=guard, after_tool_execute=hide)])
result = agent.run_sync("Pay.")
paid, refused = [part.content for part in result.all_messages()[2].parts]
assert "paid 50 to Ann, reference ****" in paid and "Mallory gets nothing" in refused
