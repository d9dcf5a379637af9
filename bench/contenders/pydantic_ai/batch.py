"""pydantic-ai, in memory."""

import json
from pathlib import Path

from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model

from bench.contenders.batch_work import ANSWER, ARGUMENTS, Run, add_up, measure


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


class FakeModel(Model):
    model_name = "fake"
    system = "fake"

    async def request(self, messages, model_settings, model_request_parameters) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse([ToolCallPart("add", json.dumps(ARGUMENTS), "call_1")])
        return ModelResponse([TextPart(ANSWER)])


def make(data: Path) -> Run:
    agent = Agent(FakeModel(), tools=[add])

    async def run() -> str:
        return (await agent.run("Add.")).output

    return run


if __name__ == "__main__":
    measure("pydantic-ai-slim", make)
