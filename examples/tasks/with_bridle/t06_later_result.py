"""The result of a call comes later, from outside."""

import asyncio

from bridle import Agent, ScriptedModel, call, tool


@tool(deferred=True)
def review(text: str) -> str:
    """Have a person review a text."""
    raise NotImplementedError


def process() -> Agent:
    model = ScriptedModel([call("review", text="Hello!"), "It is fine."])
    return Agent(model=model, tools=[review], journal="reviews.db")


paused = process().run_sync("Review it.")
result = asyncio.run(process().answer(paused.session, paused.asks[0].id, "looks good"))
assert result.output == "It is fine."
