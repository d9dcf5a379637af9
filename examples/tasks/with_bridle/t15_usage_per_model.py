"""Tokens and cost of each model of a tree of agents."""

from bridle import Agent, Price, ScriptedModel, call

cheap = ScriptedModel(["Found it."], price=Price(input=0.1, output=0.4))
scout = Agent("scout", description="Looks things up.", model=cheap)
start = call("task", description="look", prompt="Look it up.", subagent_type="scout")
lead = Agent("lead", model=ScriptedModel([start, "Done."], price=Price(input=1.0, output=4.0)), subagents=[scout])
result = lead.run_sync("Find it.")
assert sum(use.cost for use in result.models.values()) == result.cost
assert len(result.models) == 2
