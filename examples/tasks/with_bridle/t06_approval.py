"""A person approves a call hours later, with other arguments, when another process runs."""

import asyncio

from bridle import Agent, ScriptedModel, call, tool


@tool(needs=lambda amount: amount > 100)
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


def process() -> Agent:
    model = ScriptedModel([call("pay", amount=500), "Done."])
    return Agent(model=model, tools=[pay], journal="payments.db", on_ask="pause")


paused = process().run_sync("Pay 500.")
result = asyncio.run(process().answer(paused.session, paused.asks[0].id, "once", arguments={"amount": 50}))
assert (result.output, "paid 50" in result.messages[2].text) == ("Done.", True)
