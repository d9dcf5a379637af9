"""Helpers for your own tests: scripted models, a scripted HTTP server, and validators of model requests."""

from bridle.testing.scripted import Reply, ScriptedModel, call

__all__ = ["Reply", "ScriptedModel", "call"]
