"""For your own tests: models that play a script, the same over HTTP, and validators of what is sent."""

from bridle.testing.scripted import Reply, ScriptedModel, call

__all__ = ["Reply", "ScriptedModel", "call"]
