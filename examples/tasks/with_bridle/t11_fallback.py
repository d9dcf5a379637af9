"""Ask another model when the first one fails."""

from bridle import Agent, Reply, ScriptedError, ScriptedModel

first = ScriptedModel([Reply(error=ScriptedError("no such key", status=401))], ref="first/model")
second = ScriptedModel(["Hello!"], ref="second/model")
result = Agent(model=[first, second]).run_sync("Hi")
assert (result.output, list(result.models)) == ("Hello!", ["first/model", "second/model"])
