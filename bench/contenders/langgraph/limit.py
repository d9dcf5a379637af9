"""langchain's create_agent on langgraph: its middleware for limits and summaries, and its SQLite saver."""

import asyncio

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware, SummarizationMiddleware, ToolCallLimitMiddleware
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from bench.contenders.limit_work import PROMPT, Ask, report

MANY = 10_000


def middleware(limits: dict, steps: int | None, model: ChatOpenAI) -> list:
    found = []
    if steps is not None:
        # The limit of a thread, unlike that of a run, is kept in the checkpoints.
        found.append(ModelCallLimitMiddleware(thread_limit=steps, exit_behavior="end"))
    if "tool_calls" in limits:
        found.append(ToolCallLimitMiddleware(run_limit=limits["tool_calls"], exit_behavior="end"))
    if "context" in limits:
        found.append(SummarizationMiddleware(model, trigger=("tokens", limits["context"]), keep=("messages", 2)))
    return found


async def work(ask: Ask) -> str:
    model = ChatOpenAI(model="scripted", base_url=ask.address, api_key="none")
    limits = ask.limits

    async def act(note: str) -> str:
        """Do something that leaves an effect."""
        return await asyncio.to_thread(ask.act, note)

    async def child(prompt: str) -> str:
        """Let somebody else do it."""
        worker = create_agent(model, [act], middleware=middleware({}, limits["child_steps"], model))
        state = await worker.ainvoke({"messages": [("user", prompt)]}, {"recursion_limit": MANY})
        return str(state["messages"][-1].content)

    tools = [act, child] if "child_steps" in limits else [act]
    async with AsyncSqliteSaver.from_conn_string(str(ask.data / "checkpoints.db")) as saver:
        around = middleware(limits, limits.get("steps"), model)
        agent = create_agent(model, tools, middleware=around, checkpointer=saver)
        config = {"configurable": {"thread_id": "1"}, "recursion_limit": MANY}
        given = None if ask.resume else {"messages": [("user", PROMPT)]}
        # Not the default: with that, what a killed process has done may be lost.
        state = await agent.ainvoke(given, config, durability="sync")
    return str(state["messages"][-1].content)


def converse(ask: Ask) -> tuple[str, str]:
    return asyncio.run(work(ask)), "finished"


if __name__ == "__main__":
    report("langgraph", converse)
