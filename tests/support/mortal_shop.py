"""An agent with dependencies, hooks, a typed output and an approval, whose process dies at a chosen point."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle import (
    AfterCall,
    AfterRequest,
    Agent,
    BeforeCall,
    BeforeRequest,
    Change,
    Context,
    Hooks,
    Replace,
    Result,
    Retry,
    ScriptedModel,
    call,
    tool,
)
from bridle.core.ids import read_step_request
from bridle.core.parts import OUTPUT
from bridle.core.stream import ModelRequest, StreamEvent
from bridle.errors import NoSuchSession

SESSION = "p1"
HOOKS = (
    "before_request 1",
    "after_request 1",
    "before_call reserve",
    "after_call reserve",
    "before_call pay",
    "after_call pay",
    "before_request 3",
    "after_request 4",
)
"""The points in a hook."""
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
    *HOOKS,
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
        """Have an effect in a call."""
        pass_point(f"before {name}")
        self.note(name, call)
        pass_point(f"after {name}")

    def hear(self, point: str) -> None:
        """Be in a hook."""
        self.note("hooks", point)
        pass_point(point)

    def note(self, name: str, line: str) -> None:
        """Leave a line in a file, which outlives the process."""
        with (self.folder / name).open("a") as file:
            file.write(f"{line}\n")


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


async def before_request(ctx: Context[Shop], moment: BeforeRequest) -> None:
    if moment.purpose == "step":
        ctx.deps.hear(f"before_request {moment.step}")


def after_request(ctx: Context[Shop], moment: AfterRequest) -> None:
    ctx.deps.hear(f"after_request {moment.step}")


def before_call(ctx: Context[Shop], moment: BeforeCall) -> Change:
    """The shop has green tea, for 500."""
    ctx.deps.hear(f"before_call {moment.tool}")
    return Change({"item": "green tea"} if moment.tool == "reserve" else {"amount": 500})


async def after_call(ctx: Context[Shop], moment: AfterCall) -> Replace:
    ctx.deps.hear(f"after_call {moment.tool}")
    return Replace(f"{moment.output}, stamped by {ctx.deps.name}")


def agent_in(folder: Path) -> Agent[Shop, Receipt]:
    """Return the agent, with its journal and its effects in a folder."""

    def shop(metadata: Mapping[str, Any]) -> Shop:
        pass_point("factory")
        return Shop(metadata["shop"], folder)

    def instructions(ctx: Context[Shop]) -> str:
        pass_point("instructions")
        return f"You buy at {ctx.deps.name}."

    receipts = [call(OUTPUT, item="tea", shop="", paid=paid) for paid in (5, 500)]
    hooks = Hooks[Shop](
        before_request=before_request, after_request=after_request, before_call=before_call, after_call=after_call
    )
    return Agent[Shop, Receipt](
        "buyer",
        model=MortalModel([call("reserve", item="tea"), call("pay", amount=900), *receipts]),
        instructions=instructions,
        tools=[reserve, pay],
        hooks=[hooks],
        output=Receipt,
        check=paid_in_full,
        deps=shop,
        on_ask="pause",
        journal=folder / "journal.db",
    )


async def buy(folder: Path) -> Result[Receipt]:
    """Begin or continue the turn, approve its asks, and return its result."""
    agent = agent_in(folder)
    try:
        result = await agent.resume(SESSION)
    except NoSuchSession:
        result = await agent.run("Buy tea.", id=SESSION, metadata={"shop": "corner"})
    while result.reason == "paused":
        async with agent.runtime() as runtime:
            await runtime.answer(SESSION, result.asks[0].id, "once")
            await runtime.wait(SESSION, SESSION)
        result = await agent.resume(SESSION)
    pass_point("ended")
    return result


if __name__ == "__main__":
    asyncio.run(buy(Path(sys.argv[1])))
