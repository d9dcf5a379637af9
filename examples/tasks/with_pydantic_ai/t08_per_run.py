"""Instructions, limits, options of the model and tools for one run."""

from pydantic_ai import Agent, ModelSettings, UsageLimits
from pydantic_ai.capabilities import PrepareTools
from pydantic_ai.models.test import TestModel


def search(words: str) -> str:
    """Search the archive."""
    return "found"


def delete(name: str) -> str:
    """Delete a file."""
    return "deleted"


model = TestModel(call_tools=[])
agent = Agent(model, instructions="You keep the archive.", tools=[search, delete])
agent.run_sync(
    "What is there?",
    instructions="The user is a guest.",
    usage_limits=UsageLimits(request_limit=3),
    model_settings=ModelSettings(temperature=0.5),
    capabilities=[PrepareTools(lambda ctx, tools: [tool for tool in tools if tool.name != "delete"])],
)
request = model.last_model_request_parameters
assert ("guest" in str(request), [tool.name for tool in request.function_tools]) == (True, ["search"])
