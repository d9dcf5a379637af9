"""langchain's create_agent on langgraph, with its SQLite saver and its default durability."""

import asyncio
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from bench.contenders.step_work import TEXT, add_up, arguments_of, begin_request, measure


async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return add_up(a, b)


class FakeModel(BaseChatModel):
    steps: int
    _llm_type = "fake"
    _generate = None

    def bind_tools(self, tools, **_):
        return self

    async def _agenerate(self, messages, stop=None, run_manager=None, **_) -> ChatResult:
        number = begin_request()
        more = number <= self.steps
        calls = [{"id": f"call_{number}", "name": "add", "args": arguments_of(number)}] if more else []
        message = AIMessage(TEXT if more else "done", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


async def converse(steps: int, data: Path) -> str:
    async with AsyncSqliteSaver.from_conn_string(str(data / "checkpoints.db")) as saver:
        agent = create_agent(FakeModel(steps=steps), [add], checkpointer=saver)
        config = {"configurable": {"thread_id": "1"}, "recursion_limit": 2 * steps + 10}
        state = await agent.ainvoke({"messages": [("user", "Add.")]}, config)
    return str(state["messages"][-1].content)


def main(steps: int, data: Path) -> str:
    return asyncio.run(converse(steps, data))


if __name__ == "__main__":
    measure("langgraph", main)
