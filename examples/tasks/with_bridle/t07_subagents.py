"""Two subagents at once, under one budget for all of them."""

from bridle import Agent, ScriptedModel, TreeLimits, call

scout = Agent("scout", description="Looks things up.", model=ScriptedModel(["Found it."]))
start = call("task", description="look", prompt="Look it up.", subagent_type="scout")
model = ScriptedModel([[start, start], "Both found it."])
lead = Agent("lead", model=model, subagents=[scout], tree=TreeLimits(steps=10))
result = lead.run_sync("Find it twice.")
assert (result.output, result.usage.input) == ("Both found it.", 40)
