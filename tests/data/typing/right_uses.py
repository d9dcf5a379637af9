"""Correct uses of the library. Type checkers report nothing here, and infer exactly these types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, assert_type

import pydantic

from bridle import (
    Agent,
    Context,
    Limits,
    Media,
    Retry,
    Rule,
    Result,
    ScriptedModel,
    Stream,
    TreeLimits,
    call,
    tool,
)

MODEL = ScriptedModel(["hi"])


@dataclass
class Shop:
    name: str


@dataclass
class Corner(Shop):
    street: str


@dataclass
class Order:
    item: str
    count: int


class Note(pydantic.BaseModel):
    text: str


class Row(TypedDict):
    key: str


@tool
def add(a: int, b: int = 0) -> int:
    return a + b


@tool
async def order(ctx: Context[Shop], item: str) -> str:
    ctx.progress(ctx.deps.name)
    return item


@tool(permission="pay", repeatable=True, timeout_seconds=5, needs=lambda amount: amount > 100)
async def pay(ctx: Context[Shop], amount: int) -> str:
    asked = await ctx.run(PLAIN, "?")
    assert_type(asked, Result[str])
    return asked.output


def instructions(ctx: Context[Shop]) -> str:
    return ctx.deps.name


async def later(ctx: Context[Shop]) -> str:
    return ctx.deps.name


def whole(found: Order) -> Order:
    if not found.count:
        raise Retry("say how many")
    return found


async def known(ctx: Context[Shop], found: Order) -> Order:
    return found


def seen(found: Order) -> None: ...


def shop(metadata: Mapping[str, Any]) -> Shop:
    return Shop(metadata["shop"])


async def shop_later(metadata: Mapping[str, Any]) -> Shop:
    return Shop(metadata["shop"])


@contextmanager
def shop_open(metadata: Mapping[str, Any]) -> Iterator[Shop]:
    yield Shop("a")


@asynccontextmanager
async def shop_open_later(metadata: Mapping[str, Any]) -> AsyncIterator[Shop]:
    yield Shop("a")


async def shop_yielded(metadata: Mapping[str, Any]) -> AsyncIterator[Shop]:
    yield Shop("a")


PLAIN = Agent(model=MODEL)
assert_type(PLAIN, Agent[None, str])
TYPED = Agent[Shop, Order](
    model=MODEL,
    instructions=instructions,
    tools=[add, order, pay],
    output=Order,
    check=whole,
    deps=shop,
    limits=Limits(steps=3, cost=0.5),
    tree=TreeLimits(steps=20),
    permission=[Rule("pay", "*", "ask")],
    subagents=[PLAIN],
    on_ask="pause",
    journal=Path("j.db"),
)
Agent[Shop, Order](model="anthropic/some", instructions=later, output=Order, check=known, deps=shop_later)
Agent[Shop, Order](model=MODEL, output=Order, check=seen, deps=shop_open)
Agent[Shop, Order](model=MODEL, output=Order, deps=shop_open_later)
Agent[Shop, Order](model=MODEL, output=Order, deps=shop_yielded)
INFERRED = Agent(model=MODEL, tools=[order], deps_type=Shop, output=Order | None)
assert_type(INFERRED, Agent[Shop, Order | None])
assert_type(Agent(model=MODEL, output=list[Note]), Agent[None, list[Note]])
assert_type(Agent(model=MODEL, output=Row), Agent[None, Row])
LITERAL: Agent[None, Literal["a", "b"]] = Agent(model=MODEL, output=Literal["a", "b"])
Agent(model=MODEL, output=Order, check=lambda found: found if found.count else None)

assert_type(add(1, b=2), int)
assert_type(PLAIN.run_sync("go").output, str)
assert_type(TYPED.run_sync("go", deps=Corner("a", "b")).output, Order)


async def work() -> None:
    async with TYPED as agent:
        assert_type(agent, Agent[Shop, Order])
        result = await agent.run("go", deps=Shop("a"), files=[b"text", Path("a.png"), Media(b"")], metadata={"a": 1})
        assert_type(result.output.count, int)
    assert_type((await TYPED.run("go", output=int | str)).output, int | str)
    assert_type((await TYPED.resume("s", deps=Shop("a"))).output, Order)
    stream = TYPED.stream("go", limits=Limits(steps=2), tools={"pay": False}, on_ask="deny", queue=True)
    assert_type(stream, Stream[Order])
    async for event in stream:
        print(event.session)
    assert_type(stream.result.output, Order)
    async for text in PLAIN.stream("go").text():
        assert_type(text, str)
    with TYPED.override(model=ScriptedModel([call("add", a=1), "done"])):
        await TYPED.run("go")
