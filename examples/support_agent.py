"""A support agent with dependencies, a typed answer and a check. Plays a script: no key is needed."""

from dataclasses import dataclass
from typing import Literal

from bridle import Agent, Context, Limits, Retry, ScriptedModel, call, tool


@dataclass
class Customer:
    name: str
    orders: dict[str, str]


@dataclass
class Advice:
    text: str
    urgency: Literal["low", "high"]
    order: str | None = None


@tool
def order_status(ctx: Context[Customer], order: str) -> str:
    """Look up the status of an order.

    Args:
        order: the number of the order
    """
    try:
        return ctx.deps.orders[order]
    except KeyError:
        raise Retry(f"{ctx.deps.name} has no order {order}; there are: {', '.join(ctx.deps.orders)}") from None


def known_order(ctx: Context[Customer], advice: Advice) -> Advice:
    if advice.order is not None and advice.order not in ctx.deps.orders:
        raise Retry(f"order {advice.order} is not one of {ctx.deps.name}'s")
    return advice


def instructions(ctx: Context[Customer]) -> str:
    return f"You help {ctx.deps.name}, who has {len(ctx.deps.orders)} orders. Answer briefly."


model = ScriptedModel(
    [
        call("order_status", order="12"),
        call("order_status", order="21"),
        call("structured_output", text="It arrives tomorrow.", urgency="low", order="12"),
        call("structured_output", text="It arrives tomorrow.", urgency="low", order="21"),
    ]
)
agent = Agent[Customer, Advice](
    "support",
    model=model,
    instructions=instructions,
    tools=[order_status],
    output=Advice,
    check=known_order,
    limits=Limits(steps=8, seconds=60),
)
result = agent.run_sync("Where is my order?", deps=Customer("Ann", {"21": "sent today, arrives tomorrow"}))
advice = result.output
print(f"{result.reason}: {advice.text} (urgency {advice.urgency}, order {advice.order}, {result.steps} steps)")
