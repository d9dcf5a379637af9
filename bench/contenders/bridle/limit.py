"""Bridle: its library, with an agent's own limits, subagents, a tree and a journal."""

import asyncio

from bench.contenders.limit_work import PROMPT, Ask, report
from bridle import Agent, Limits, Price, Result, TreeLimits, tool
from bridle.core.agent import ModelInfo
from bridle.core.inbox import TurnOptions
from bridle.model.http import Lane
from bridle.model.openai_chat import ChatModel
from bridle.seams import Seams

SESSION = "compared"
PRICE = Price(10.0, 10.0)
OPTIONS = TurnOptions(agent="parent", on_ask="deny")


def agent(ask: Ask, model: ChatModel, seams: Seams) -> Agent:
    limits = ask.limits

    @tool
    async def act(note: str) -> str:
        """Do something that leaves an effect."""
        return await asyncio.to_thread(ask.act, note)

    child = Agent("child", model=model, tools=[act], steps=limits.get("child_steps"), description="does the work")
    bounds = Limits(**{name: limits.get(name) for name in ("tool_calls", "tokens", "cost", "seconds")})
    return Agent(
        "parent",
        model=model,
        tools=[act],
        steps=limits.get("steps"),
        limits=bounds,
        subagents=[child] if "child_steps" in limits else [],
        tree=TreeLimits(steps=limits.get("tree_steps", 1_000)),
        directory=ask.data,
        journal=ask.data / "journal.db",
        seams=seams,
    )


async def play(ask: Ask, seams: Seams) -> Result:
    """One turn from its beginning, or from where a process that died has left it."""
    lane = Lane(ask.address, dict)
    info = ModelInfo("scripted", ask.limits.get("context", 128_000), 500, PRICE)
    try:
        async with agent(ask, ChatModel(lane, "scripted", info), seams).runtime() as runtime:
            if not ask.resume:
                await runtime.create(SESSION)
                await runtime.prompt(SESSION, PROMPT, id=SESSION, options=OPTIONS)
            await runtime.resume(SESSION)
            return await runtime.wait(SESSION, SESSION)
    finally:
        await lane.close()


def converse(ask: Ask) -> tuple[str, str]:
    result = asyncio.run(play(ask, Seams()))
    return result.text, result.reason


if __name__ == "__main__":
    report("bridle", converse)
