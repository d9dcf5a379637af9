"""Give tools and instructions the dependencies of a run, typed."""

from dataclasses import dataclass

from pydantic_ai import Agent, RunContext
from scripted import call, scripted


@dataclass
class Shop:
    owner: str
    stock: dict[str, int]


def instructions(ctx: RunContext[Shop]) -> str:
    return f"You sell for {ctx.deps.owner}."


def order(ctx: RunContext[Shop], item: str) -> str:
    """Order an item."""
    ctx.deps.stock[item] -= 1
    return f"{item} is packed"


model = scripted([call("order", item="tea"), "Your tea is on its way."])
agent = Agent(model, deps_type=Shop, instructions=instructions, tools=[order])
shop = Shop("Ann", {"tea": 5})
result = agent.run_sync("Tea, please.", deps=shop)
assert (result.output, shop.stock) == ("Your tea is on its way.", {"tea": 4})
