"""Correct uses of the library. Type checkers report nothing here, and infer exactly these types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, assert_type

import pydantic

from bridle import (
    AccountUse,
    Agent,
    Budget,
    AssistantMessage,
    Context,
    Entry,
    EventStream,
    File,
    Limits,
    McpServer,
    Media,
    Model,
    ModelRequest,
    ModelSettings,
    Price,
    ReachedLimit,
    Message,
    Retry,
    Rule,
    Result,
    Runtime,
    ScriptedModel,
    Settings,
    Stream,
    TextEvent,
    StreamEnd,
    StreamEvent,
    TextDelta,
    TreeLimits,
    TurnOptions,
    UserMessage,
    call,
    forbid_requests,
    coding_tools,
    from_anthropic,
    from_openai,
    to_openai,
    tool,
)

MODEL = ScriptedModel(["hi"])
WITH_FALLBACKS = Agent("several", model=["openai/gpt-5", MODEL])


class Parrot:
    """A model of a program."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        yield TextDelta(request.messages[-1].id)
        yield StreamEnd()


OWN: list[Model] = [Parrot(), MODEL]
assert_type(Agent("own", model=OWN), Agent[None, str])
with WITH_FALLBACKS.override(model=OWN), forbid_requests():
    WITH_FALLBACKS.run_sync("hi", model=["a/b", "c/d"])
FREE = Settings(models={"sidecar/large": ModelSettings(price=Price(input=0, output=0))})


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
CODING = Agent(
    model=MODEL,
    tools=[*coding_tools(commands=False), add, order],
    mcp={"docs": McpServer(command=["docs-server"]), "web": McpServer(url="https://example.org/mcp")},
    directory=Path("repo"),
    describe_machine=False,
    deps_type=Shop,
)
ONLY_CODING: Agent[None, str] = Agent(model=MODEL, tools=coding_tools(), settings=FREE)
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
    assert_type(PLAIN.run_sync("go", output=Order).output, Order)
    assert_type(PLAIN.stream("go", output=list[Order]), Stream[list[Order]])
    assert_type((await TYPED.resume("s", deps=Shop("a"))).output, Order)
    async with PLAIN.runtime() as runtime:
        await runtime.set_budget("ann", Budget(daily=Limits(cost=5.0), monthly=Limits(tokens=1_000_000)))
        assert_type(await runtime.account("ann"), AccountUse)
        assert_type((await runtime.account("ann")).today.left.cost, float | None)
    assert_type((await PLAIN.run("go", account="ann")).limit, ReachedLimit | None)
    stream = TYPED.stream("go", limits=Limits(steps=2), tools={"pay": False}, on_ask="deny", queue=True)
    assert_type(stream, Stream[Order])
    async for event in stream:
        print(event.session)
    assert_type(stream.result.output, Order)
    async for text in PLAIN.stream("go").text():
        assert_type(text, str)
    with TYPED.override(model=ScriptedModel([call("add", a=1), "done"])):
        await TYPED.run("go")


class ApiMessage(TypedDict):
    role: Literal["user"]
    content: str


class SdkMessage(pydantic.BaseModel):
    role: str
    content: str


async def converse(runtime: Runtime) -> None:
    said: list[ApiMessage] = [{"role": "user", "content": "Hi"}]
    assert_type(from_openai(said), list[Message])
    assert_type(await PLAIN.begin(from_openai([SdkMessage(role="user", content="Hi")])), str)
    earlier = await PLAIN.history("s")
    PLAIN.begin_sync([*earlier, UserMessage("", "Hi"), *from_anthropic(to_openai(earlier))], session="mine")
    session = await runtime.create(messages=earlier)
    options = TurnOptions(agent="a", limits={"steps": 3}, on_ask="pause")
    prompt = await runtime.prompt(session, "Hi", files=[File("a.txt", "text")], options=options)
    shown = EventStream(session)
    async for seen in runtime.stream(session, prompt):
        for event in shown.of_entry(seen) if isinstance(seen, Entry) else shown.of_delta(seen):
            if isinstance(event, TextEvent):
                assert_type(event.text, str)
    (last,) = [message for message in (await runtime.load(session)).messages if isinstance(message, AssistantMessage)]
    assert_type(last.text, str)
BILLING = Agent[Shop, Order](model=MODEL, tools=[order], output=Order)
TRIAGE = Agent[Shop, Order](model=MODEL, output=Order, handoffs=[BILLING, TYPED])
BILLING.add_handoffs(TRIAGE, TYPED)
assert_type(Agent(model=MODEL, handoffs=[PLAIN]), Agent[None, str])
assert_type(Agent(model=MODEL, output=Order, deps_type=Shop, handoffs=[BILLING]), Agent[Shop, Order])
