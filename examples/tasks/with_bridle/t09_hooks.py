"""Hooks around calls: refuse a call, change its arguments, hide a part of its output."""

from bridle import AfterCall, Agent, BeforeCall, Change, Hooks, Refuse, Replace, ScriptedModel, call


def pay(to: str, amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount} to {to}, reference 4711"


def guard(moment: BeforeCall) -> Change | Refuse:
    if moment.arguments["to"] == "Mallory":
        return Refuse("Mallory gets nothing")
    return Change({**moment.arguments, "amount": min(moment.arguments["amount"], 50)})


def hide(moment: AfterCall) -> Replace:
    return Replace(moment.output.replace("4711", "****"))


model = ScriptedModel([[call("pay", to="Ann", amount=500), call("pay", to="Mallory", amount=1)], "Done."])
agent = Agent(model=model, tools=[pay], hooks=[Hooks(before_call=guard, after_call=hide)])
result = agent.run_sync("Pay.")
paid, refused = [message.text for message in result.messages[2:4]]
assert "paid 50 to Ann, reference ****" in paid and "Mallory gets nothing" in refused
