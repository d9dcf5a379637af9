"""langchain's create_agent on langgraph over HTTP, with langchain's OpenAI chat model, in memory."""

from pathlib import Path

from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI

from bench.contenders.wire_work import add_up, hand, measure

MOST_STEPS = 10_000


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


async def converse(address: str, data: Path) -> str:
    agent, answer = create_agent(ChatOpenAI(model="m", base_url=address, api_key="none"), [add]), ""
    begin, config = {"messages": [("user", "Go.")]}, {"recursion_limit": MOST_STEPS}
    async for mode, event in agent.astream(begin, config, stream_mode=["messages", "values"]):
        if mode == "values":
            answer = str(event["messages"][-1].content)
        elif isinstance(event[0], AIMessageChunk):
            hand(str(event[0].content))
    return answer


if __name__ == "__main__":
    measure("langgraph", converse)
