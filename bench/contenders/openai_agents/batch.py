"""openai-agents, in memory."""

import json
from dataclasses import dataclass
from pathlib import Path

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from bench.contenders.batch_work import ANSWER, ARGUMENTS, Run, add_up, measure


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


@dataclass
class FakeModel(Model):
    stream_response = None

    async def get_response(self, *_: object, input, **__: object) -> ModelResponse:
        if len(input) == 1:
            call = {"type": "function_call", "name": "add", "arguments": json.dumps(ARGUMENTS)}
            return reply(ResponseFunctionToolCall(call_id="call_1", **call))
        text = ResponseOutputText(type="output_text", text=ANSWER, annotations=[])
        message = {"type": "message", "role": "assistant", "status": "completed", "content": [text]}
        return reply(ResponseOutputMessage(id="msg_1", **message))


def reply(item) -> ModelResponse:
    return ModelResponse(output=[item], usage=Usage(), response_id=None)


def make(data: Path) -> Run:
    agent = Agent("adder", model=FakeModel(), tools=[function_tool(add)])
    config = RunConfig(tracing_disabled=True)

    async def run() -> str:
        return str((await Runner.run(agent, "Add.", run_config=config)).final_output)

    return run


if __name__ == "__main__":
    measure("openai-agents", make)
