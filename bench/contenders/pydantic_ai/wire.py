"""pydantic-ai over HTTP, with its OpenAI chat model, in memory."""

from pathlib import Path

from pydantic_ai import (
    Agent,
    AgentRunResultEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    UsageLimits,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from bench.contenders.wire_work import add_up, hand, measure


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


async def converse(address: str, data: Path) -> str:
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=address, api_key="none"))
    agent, answer = Agent(model, tools=[add]), ""
    async with agent.run_stream_events("Go.", usage_limits=UsageLimits(request_limit=None)) as events:
        async for event in events:
            if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                hand(event.delta.content_delta)
            elif isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                hand(event.part.content)
            elif isinstance(event, AgentRunResultEvent):
                answer = str(event.result.output)
    return answer


if __name__ == "__main__":
    measure("pydantic-ai-slim", converse)
