"""The result of a call comes later, from outside."""

from pathlib import Path

from pydantic_ai import Agent, CallDeferred, ConversationTypeAdapter, DeferredToolRequests
from scripted import call, scripted


def review(text: str) -> str:
    """Have a person review a text."""
    raise CallDeferred


def process() -> Agent[object, str | DeferredToolRequests]:
    model = scripted([call("review", text="Hello!"), "It is fine."])
    return Agent(model, tools=[review], output_type=[str, DeferredToolRequests])


paused = process().run_sync("Review it.")
Path("paused.json").write_bytes(ConversationTypeAdapter.dump_json(paused.conversation))

conversation = ConversationTypeAdapter.validate_json(Path("paused.json").read_bytes())
asked = conversation.deferred_tool_requests
results = asked.build_results(calls={asked.calls[0].tool_call_id: "looks good"})
result = process().run_sync(conversation=conversation, deferred_tool_results=results)
assert result.output == "It is fine."
