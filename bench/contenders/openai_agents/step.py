"""openai-agents, with its SQLite session."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

from agents import Agent, Model, ModelResponse, RunConfig, Runner, SQLiteSession, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from bench.contenders.step_work import TEXT, add_up, arguments_of, begin_request, measure


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


@dataclass
class FakeModel(Model):
    steps: int
    stream_response = None

    async def get_response(self, *_: object, **__: object) -> ModelResponse:
        number = begin_request()
        more = number <= self.steps
        text = ResponseOutputText(type="output_text", text=TEXT if more else "done", annotations=[])
        message = {"type": "message", "role": "assistant", "status": "completed", "content": [text]}
        output = [ResponseOutputMessage(id=f"msg_{number}", **message)]
        if more:
            call = {"type": "function_call", "name": "add", "arguments": json.dumps(arguments_of(number))}
            output.append(ResponseFunctionToolCall(call_id=f"call_{number}", **call))
        return ModelResponse(output=output, usage=Usage(), response_id=None)


async def converse(steps: int, data: Path) -> str:
    session = SQLiteSession("1", data / "session.db")
    agent = Agent("adder", model=FakeModel(steps), tools=[function_tool(add)])
    config = RunConfig(tracing_disabled=True)
    done = await Runner.run(agent, "Add.", session=session, max_turns=None, run_config=config)
    session.close()
    return str(done.final_output)


def main(steps: int, data: Path) -> str:
    return asyncio.run(converse(steps, data))


if __name__ == "__main__":
    measure("openai-agents", main)
