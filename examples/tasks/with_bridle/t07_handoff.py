"""Hand a conversation over to another agent, which answers."""

from bridle import Agent, ScriptedModel, call

billing = Agent("billing", description="Knows bills.", model=ScriptedModel(["It is paid."]))
triage = Agent("triage", model=ScriptedModel([call("transfer_to_billing")]), handoffs=[billing])
result = triage.run_sync("Is my bill paid?")
assert (result.output, result.agent, result.usage.input) == ("It is paid.", "billing", 20)
