"""agno over HTTP, with its OpenAI chat model, in memory."""

from pathlib import Path

from agno.agent import Agent
from agno.models.openai import OpenAILike
from agno.run.agent import RunContentEvent, RunOutput

from bench.contenders.wire_work import add_up, hand, measure


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


async def converse(address: str, data: Path) -> str:
    model, answer = OpenAILike(id="m", base_url=address), ""
    agent = Agent(model=model, tools=[add], telemetry=False)
    async for event in agent.arun("Go.", stream=True, yield_run_output=True):
        if isinstance(event, RunContentEvent):
            hand(event.content or "")
        elif isinstance(event, RunOutput):
            answer = str(event.messages[-1].content)
    return answer


if __name__ == "__main__":
    measure("agno", converse)
