"""Agents of several tenants on one journal, in a process of their own: many runs at once, or one that waits inside."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from bridle import Agent, Price, Reply, ScriptedModel, call, tool
from bridle.core.states import Usage
from bridle.core.stream import ModelRequest

PRICE = Price(1.0, 1.0)
TENANTS = ("ann", "bob")
RUNS = 6
"""Runs of each tenant in each process, all at once."""


@tool
def wait() -> str:
    """Tell the process above, and wait for its word."""
    sys.stdout.write("inside\n")
    sys.stdout.flush()
    return sys.stdin.readline().strip()


def answer(request: ModelRequest) -> Reply:
    calls = (call("wait"),) if request.tools and not request.messages[-1:][0].id.endswith("result") else ()
    return Reply(text="ok", calls=calls, usage=Usage(300, 700))


def agent(folder: Path, *, waits: bool = False) -> Agent:
    model = ScriptedModel(answer, price=PRICE, max_output_tokens=1_024)
    return Agent("clerk", model=model, tools=[wait] if waits else [], journal=folder / "journal.db")


async def serve(folder: Path) -> None:
    async with agent(folder) as clerk:
        await asyncio.gather(*(clerk.run("go", account=name) for _ in range(RUNS) for name in TENANTS))


async def one(folder: Path, account: str) -> None:
    result = await agent(folder, waits=True).run("go", account=account)
    sys.stdout.write(f"{result.reason} {result.limit}\n")


if __name__ == "__main__":
    place, *name = sys.argv[1:]
    asyncio.run(one(Path(place), name[0]) if name else serve(Path(place)))
