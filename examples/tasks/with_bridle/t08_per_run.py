"""Instructions, limits, options of the model and tools for one run."""

from bridle import Agent, Limits, ScriptedModel


def search(words: str) -> str:
    """Search the archive."""
    return "found"


def delete(name: str) -> str:
    """Delete a file."""
    return "deleted"


model = ScriptedModel(["Nothing is there."])
agent = Agent(model=model, instructions="You keep the archive.", tools=[search, delete])
agent.run_sync(
    "What is there?",
    system="The user is a guest.",
    limits=Limits(steps=3),
    options={"temperature": 0.5},
    tools={"delete": False},
)
(request,) = model.requests
assert ("guest" in request.system, [tool.name for tool in request.tools]) == (True, ["search"])
