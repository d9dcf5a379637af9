"""pydantic-ai, in memory."""

import asyncio
import json
from pathlib import Path

from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart, UsageLimits
from pydantic_ai.models import Model

from bench.contenders.step_work import TEXT, add_up, arguments_of, begin_request, measure


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


class FakeModel(Model):
    """Not FunctionModel, which counts the whole history again on every request."""

    model_name = "fake"
    system = "fake"

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps

    async def request(self, messages, model_settings, model_request_parameters) -> ModelResponse:
        number = begin_request()
        if number > self.steps:
            return ModelResponse([TextPart("done")])
        call = ToolCallPart("add", json.dumps(arguments_of(number)), f"call_{number}")
        return ModelResponse([TextPart(TEXT), call])


async def converse(steps: int) -> str:
    agent = Agent(FakeModel(steps), tools=[add])
    return str((await agent.run("Add.", usage_limits=UsageLimits(request_limit=None))).output)


def main(steps: int, data: Path) -> str:
    return asyncio.run(converse(steps))


if __name__ == "__main__":
    measure("pydantic-ai-slim", main)
