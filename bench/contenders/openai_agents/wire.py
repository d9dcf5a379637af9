"""openai-agents over HTTP, with its chat completions model, in memory."""

from pathlib import Path

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI

from bench.contenders.wire_work import add_up, hand, measure


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


async def converse(address: str, data: Path) -> str:
    async with AsyncOpenAI(base_url=address, api_key="none") as client:
        agent = Agent("adder", model=OpenAIChatCompletionsModel("m", client), tools=[function_tool(add)])
        run = Runner.run_streamed(agent, "Go.", max_turns=None, run_config=RunConfig(tracing_disabled=True))
        async for event in run.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                hand(event.data.delta)
    return str(run.final_output)


if __name__ == "__main__":
    measure("openai-agents", converse)
