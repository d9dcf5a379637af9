"""An agent with dependencies, a typed output and an approval, whose process dies at a chosen point of its turn."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle import Agent, Context, Result, Retry, ScriptedModel, call, tool
from bridle.core.ids import read_step_request
from bridle.core.parts import OUTPUT
from bridle.core.stream import ModelRequest, StreamEvent
from bridle.errors import NoSuchSession

SESSION = "p1"
POINTS = (
    "factory",
    "instructions",
    "reply 1",
    "before reserve",
    "after reserve",
    "request 2",
    "needs",
    "before pay",
    "after pay",
    "reply 3",
    "check",
    "request 4",
    "ended",
)


def pass_point(point: str) -> None:
    """Kill this process if it is to die here."""
    if os.environ.get("DIES_AT") == point:
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Shop:
    """The dependencies of a turn."""

    name: str
    folder: Path

    def act(self, name: str, call: str) -> None:
        """Leave a line in a file, which outlives the process."""
        pass_point(f"before {name}")
        with (self.folder / name).open("a") as file:
            file.write(f"{call}\n")
        pass_point(f"after {name}")


@dataclass
class Receipt:
    """The answer."""

    item: str
    shop: str
    paid: int


class MortalModel(ScriptedModel):
    """A scripted model in whose requests the process may die: before a reply, or in the middle of it."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        asked = read_step_request(request.id)
        step = asked.step if asked is not None else 0
        pass_point(f"request {step}")
        async for number, event in numbered(super().stream(request)):
            yield event
            if number == 1:
                await asyncio.sleep(0)
                pass_point(f"reply {step}")


async def numbered(events: AsyncIterator[StreamEvent]) -> AsyncIterator[tuple[int, StreamEvent]]:
    number = 0
    async for event in events:
        yield number, event
        number += 1


@tool
async def reserve(ctx: Context[Shop], item: str) -> str:
    """Reserve an item."""
    ctx.deps.act("reserve", ctx.call)
    return f"{ctx.deps.name} holds {item}"


def dear(amount: int) -> bool:
    """A person approves large amounts."""
    pass_point("needs")
    return amount > 100


@tool(needs=dear)
async def pay(ctx: Context[Shop], amount: int) -> str:
    """Pay for the item."""
    ctx.deps.act("pay", ctx.call)
    return f"paid {amount}"


def paid_in_full(ctx: Context[Shop], found: Receipt) -> Receipt:
    pass_point("check")
    if found.paid < 500:
        raise Retry("it costs 500")
    return Receipt(found.item, ctx.deps.name, found.paid)


def agent_in(folder: Path) -> Agent[Shop, Receipt]:
    """Return the agent, with its journal and its effects in a folder."""

    def shop(metadata: Mapping[str, Any]) -> Shop:
        pass_point("factory")
        return Shop(metadata["shop"], folder)

    def instructions(ctx: Context[Shop]) -> str:
        pass_point("instructions")
        return f"You buy at {ctx.deps.name}."

    receipts = [call(OUTPUT, item="tea", shop="", paid=paid) for paid in (5, 500)]
    return Agent[Shop, Receipt](
        "buyer",
        model=MortalModel([call("reserve", item="tea"), call("pay", amount=500), *receipts]),
        instructions=instructions,
        tools=[reserve, pay],
        output=Receipt,
        check=paid_in_full,
        deps=shop,
        on_ask="pause",
        journal=folder / "journal.db",
    )


async def buy(folder: Path) -> Result[Receipt]:
    """Begin or continue the turn, approve what it asks, and return its result."""
    agent = agent_in(folder)
    try:
        result = await agent.resume(SESSION)
    except NoSuchSession:
        result = await agent.run("Buy tea.", id=SESSION, metadata={"shop": "corner"})
    if result.reason == "paused":
        async with agent.runtime() as runtime:
            await runtime.answer(SESSION, result.asks[0].id, "once")
            await runtime.wait(SESSION, SESSION)
        result = await agent.resume(SESSION)
    pass_point("ended")
    return result


if __name__ == "__main__":
    asyncio.run(buy(Path(sys.argv[1])))
