"""Give tools and instructions the dependencies of a run, typed."""

from dataclasses import dataclass

from bridle import Agent, Context, ScriptedModel, call


@dataclass
class Shop:
    owner: str
    stock: dict[str, int]


def instructions(ctx: Context[Shop]) -> str:
    return f"You sell for {ctx.deps.owner}."


def order(ctx: Context[Shop], item: str) -> str:
    """Order an item."""
    ctx.deps.stock[item] -= 1
    return f"{item} is packed"


model = ScriptedModel([call("order", item="tea"), "Your tea is on its way."])
agent = Agent[Shop, str](model=model, instructions=instructions, tools=[order])
shop = Shop("Ann", {"tea": 5})
result = agent.run_sync("Tea, please.", deps=shop)
assert (result.output, shop.stock) == ("Your tea is on its way.", {"tea": 4})
