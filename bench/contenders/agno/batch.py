"""agno, in memory."""

import json
from pathlib import Path

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse

from bench.contenders.batch_work import ANSWER, ARGUMENTS, Run, add_up, measure


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


class FakeModel(Model):
    async def ainvoke(self, messages, *_: object, **__: object) -> ModelResponse:
        if messages[-1].role == "tool":
            return ModelResponse(role="assistant", content=ANSWER)
        function = {"name": "add", "arguments": json.dumps(ARGUMENTS)}
        call = {"id": "call_1", "type": "function", "function": function}
        return ModelResponse(role="assistant", tool_calls=[call])

    invoke = invoke_stream = ainvoke_stream = _parse_provider_response = _parse_provider_response_delta = None


def make(data: Path) -> Run:
    agent = Agent(model=FakeModel(id="fake"), tools=[add], telemetry=False)

    async def run() -> str:
        return str((await agent.arun("Add.")).content)

    return run


if __name__ == "__main__":
    measure("agno", make)
