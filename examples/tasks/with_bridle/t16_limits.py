"""A limit ends a run with an answer and a reason."""

from bridle import Agent, Limits, ScriptedModel, call


def look(page: int) -> str:
    """Look at a page."""
    return f"page {page}: nothing"


model = ScriptedModel(lambda request: call("look", page=len(request.messages)) if request.tools else "Not found.")
result = Agent(model=model, tools=[look], limits=Limits(steps=3, seconds=60)).run_sync("Find it.")
assert (result.reason, result.text, result.tool_calls) == ("step_cap", "Not found.", 2)
