"""langchain's create_agent on langgraph, with its PostgreSQL saver on a pool and its default durability."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from bench.contenders.session_work import ANSWER, TEXT, Run, Work, add_up, arguments_of, measure

CONNECTIONS = 10


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
        done = len(messages) // 2
        more = done < self.steps
        calls = [{"id": f"call_{done}", "name": "add", "args": arguments_of(done)}] if more else []
        message = AIMessage(TEXT if more else ANSWER, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


@asynccontextmanager
async def opened(work: Work) -> AsyncIterator[Run]:
    # As its documentation opens a connection.
    kwargs = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(work.database, max_size=CONNECTIONS, open=False, kwargs=kwargs) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        agent = create_agent(FakeModel(steps=work.steps), [add], checkpointer=saver)

        async def run(name: str) -> str:
            config = {"configurable": {"thread_id": name}, "recursion_limit": 2 * work.steps + 10}
            state = await agent.ainvoke({"messages": [("user", "Add.")]}, config)
            return str(state["messages"][-1].content)

        yield run


if __name__ == "__main__":
    measure("langgraph-checkpoint-postgres", opened)
