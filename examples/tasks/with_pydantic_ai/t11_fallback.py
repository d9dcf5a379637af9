"""Ask another model when the first one fails."""

from pydantic_ai import Agent, ModelHTTPError
from pydantic_ai.models.fallback import FallbackModel
from scripted import scripted


def fail(messages, info):
    raise ModelHTTPError(401, "first", "no such key")


result = Agent(FallbackModel(scripted(fail), scripted(["Hello!"]))).run_sync("Hi")
assert (result.output, len(result.response.failed_attempts)) == ("Hello!", 1)
