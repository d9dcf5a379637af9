"""agno, in memory."""

import json
from pathlib import Path

from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse

from bench.contenders.step_work import TEXT, add_up, arguments_of, begin_request, measure


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


class FakeModel(Model):
    steps = 0

    def invoke(self, *_: object, **__: object) -> ModelResponse:
        number = begin_request()
        if number > self.steps:
            return ModelResponse(role="assistant", content="done")
        function = {"name": "add", "arguments": json.dumps(arguments_of(number))}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        return ModelResponse(role="assistant", content=TEXT, tool_calls=[call])

    ainvoke = invoke_stream = ainvoke_stream = _parse_provider_response = _parse_provider_response_delta = None


def main(steps: int, data: Path) -> str:
    model = FakeModel(id="fake")
    model.steps = steps
    # The synchronous form: the asynchronous one costs a quarter more.
    return str(Agent(model=model, tools=[add], telemetry=False).run("Add.").messages[-1].content)


if __name__ == "__main__":
    measure("agno", main)
