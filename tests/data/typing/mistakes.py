"""Mistakes in using the library. Each line with one names what mypy and pyright report for it, and nothing else is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from bridle import (
    Agent,
    Budget,
    Context,
    Limits,
    McpServer,
    Media,
    Rule,
    Runtime,
    ScriptedModel,
    TreeLimits,
    call,
    coding_tools,
    from_openai,
    tool,
)
from bridle.wire.events import DeltaEvent, ResultEvent

MODEL = ScriptedModel(["hi"])


@dataclass
class Shop:
    name: str


@dataclass
class Bank:
    money: int


@dataclass
class Order:
    item: str
    count: int


@tool
def add(a: int, b: int) -> int:
    return a + b


@tool
async def buy(ctx: Context[Shop], item: str) -> str:
    ctx.progress(5)  # wrong: arg-type | reportArgumentType
    await ctx.run(BANKER, "go", deps=ctx.deps)  # wrong: misc | reportArgumentType
    ctx.deps.nmae  # wrong: attr-defined | reportAttributeAccessIssue
    return item


@tool
async def withdraw(ctx: Context[Bank], money: int) -> str:
    return str(ctx.deps.money - money)


@tool(timeout=5)  # wrong: call-overload, untyped-decorator | reportCallIssue
def slow() -> str:
    return ""


@tool(permission=["pay"])  # wrong: call-overload, untyped-decorator | reportArgumentType
def pay() -> str:
    return ""


@tool(needs=lambda: 5)  # wrong: arg-type, return-value | reportArgumentType
def spend() -> str:
    return ""


def count(found: Order) -> int:
    return found.count


def check_bank(ctx: Context[Bank], found: Order) -> Order:
    return found


def bank(metadata: Mapping[str, Any]) -> Bank:
    return Bank(5)


def of_bank(ctx: Context[Bank]) -> str:
    return str(ctx.deps.money)


class Echo:
    async def stream(self, request: str) -> AsyncIterator[str]:
        yield request


SHOPPER = Agent[Shop, Order](model=MODEL, tools=[add, buy], output=Order)
BANKER = Agent[Bank, str](model=MODEL, tools=[withdraw])

# Agents
Agent()  # wrong: call-overload | reportCallIssue
Agent(model=5)  # wrong: call-overload | reportArgumentType
Agent(model=Echo())  # wrong: call-overload | reportArgumentType
Agent(model=MODEL, prompt="You add.")  # wrong: call-overload | reportCallIssue
Agent(model=MODEL, instructions=len)  # wrong: arg-type | reportArgumentType
Agent[Shop, str](model=MODEL, instructions=of_bank)  # wrong: arg-type | reportArgumentType
Agent[Shop, str](model=MODEL, tools=[add, withdraw])  # wrong: list-item | reportArgumentType
Agent(model=MODEL, deps_type=Shop, tools=[withdraw])  # wrong: misc | reportArgumentType
Agent(model=MODEL, handoffs=[SHOPPER])  # wrong: list-item | reportArgumentType
Agent[Bank, Order](model=MODEL, output=Order, handoffs=[SHOPPER])  # wrong: list-item | reportCallIssue, reportArgumentType
BANKER.add_handoffs(SHOPPER)  # wrong: arg-type | reportArgumentType
Agent(model=MODEL, handoffs=[add])  # wrong: list-item | reportArgumentType
Agent(model=MODEL, tools=[7])  # wrong: list-item | reportArgumentType
Agent[Shop, str](model=MODEL, deps=bank)  # wrong: arg-type | reportArgumentType
Agent(model=MODEL, output=5)  # wrong: call-overload | reportArgumentType, reportCallIssue
Agent[None, Order](model=MODEL, output=Shop)  # wrong: arg-type | reportArgumentType, reportCallIssue
Agent(model=MODEL, output=Order, check=count)  # wrong: arg-type | reportArgumentType, reportCallIssue
Agent[Shop, Order](model=MODEL, output=Order, check=check_bank)  # wrong: arg-type | reportArgumentType, reportCallIssue
Agent(model=MODEL, limits={"steps": 3})  # wrong: call-overload | reportArgumentType
Agent(model=MODEL, limits=Limits(steps="3"))  # wrong: arg-type | reportArgumentType
Agent(model=MODEL, limits=Limits(stepz=3))  # wrong: call-arg | reportCallIssue
Agent(model=MODEL, tree=Limits(steps=3))  # wrong: call-overload | reportArgumentType
Agent(model=MODEL, subagents=["scout"])  # wrong: list-item | reportArgumentType
Agent(model=MODEL, permission=[Rule("python", "*", "denny")])  # wrong: arg-type | reportArgumentType
Agent(model=MODEL, permission={"python": "deny"})  # wrong: dict-item | reportArgumentType
Agent(model=MODEL, on_ask="maybe")  # wrong: call-overload | reportArgumentType
Agent(model=MODEL, mcp={"docs": ["docs-server"]})  # wrong: dict-item | reportArgumentType
Agent(model=MODEL, mcp={"docs": McpServer(command="docs-server")})  # wrong: arg-type | reportArgumentType
Agent(model=MODEL, tools=coding_tools(comands=False))  # wrong: call-arg | reportCallIssue
Agent(model=MODEL, describe_machine="no")  # wrong: call-overload | reportArgumentType
Agent(model=MODEL, journal=5)  # wrong: call-overload | reportArgumentType
ScriptedModel([5])  # wrong: list-item | reportArgumentType

# Tools, called directly
add("1", 2)  # wrong: arg-type | reportArgumentType
add(1)  # wrong: call-arg | reportCallIssue
add(1, c=2)  # wrong: call-arg | reportCallIssue
total: str = add(1, 2)  # wrong: assignment | reportAssignmentType


async def run() -> None:
    await SHOPPER.run("go", deps=Bank(5))  # wrong: call-overload | reportArgumentType
    await SHOPPER.run("go", temprature=0.5)  # wrong: call-overload | reportCallIssue
    await SHOPPER.run(5, deps=Shop("a"))  # wrong: call-overload | reportArgumentType
    await SHOPPER.run("go", files=[5])  # wrong: list-item | reportArgumentType
    await SHOPPER.run("go", limits=3)  # wrong: call-overload | reportArgumentType
    await SHOPPER.run("go", tools=["add"])  # wrong: call-overload | reportArgumentType
    await SHOPPER.run("go", on_ask="maybe")  # wrong: call-overload | reportArgumentType
    await SHOPPER.run("go", metadata="corner")  # wrong: call-overload | reportArgumentType
    await SHOPPER.resume("s", deps=Bank(5))  # wrong: arg-type | reportArgumentType
    SHOPPER.run("go")  # wrong: unused-coroutine | reportUnusedCoroutine
    SHOPPER.run("go").output  # wrong: attr-defined | reportAttributeAccessIssue
    await SHOPPER.run_sync("go")  # wrong: misc | reportGeneralTypeIssues
    result = await SHOPPER.run("go", deps=Shop("a"))
    print(result.output.nmae)  # wrong: attr-defined | reportAttributeAccessIssue
    number: int = result.output  # wrong: assignment | reportAssignmentType
    text: str = (await SHOPPER.run("go", output=int)).output  # wrong: assignment | reportAssignmentType
    result.text = ""  # wrong: misc | reportAttributeAccessIssue
    await SHOPPER.run("go", model=[5])  # wrong: list-item | reportArgumentType
    with SHOPPER.override(mdoel=MODEL):  # wrong: call-arg | reportCallIssue
        print(number, text)


async def stream() -> None:
    for event in SHOPPER.stream("go"):  # wrong: attr-defined | reportGeneralTypeIssues
        print(event)
    await SHOPPER.stream("go")  # wrong: misc | reportGeneralTypeIssues
    async for event in SHOPPER.run("go"):  # wrong: attr-defined | reportGeneralTypeIssues
        print(event)
    SHOPPER.stream("go", deps=Bank(5))  # wrong: call-overload | reportArgumentType
    SHOPPER.run_sync("go", output=Order, deps=Bank(5))  # wrong: call-overload | reportArgumentType
    kept: Bank = SHOPPER.run_sync("go", output=Order).output  # wrong: assignment | reportAssignmentType
    print(kept)
    async for event in SHOPPER.stream("go"):
        print(event.text)  # wrong: union-attr | reportAttributeAccessIssue
        if isinstance(event, DeltaEvent) and event.kind == "text":
            print(event.txt)  # wrong: attr-defined | reportAttributeAccessIssue
        if isinstance(event, ResultEvent):
            print(event.output, event.reason.value)  # wrong: union-attr | reportAttributeAccessIssue
    SHOPPER.stream("go").result()  # wrong: operator | reportCallIssue
    found: Bank = SHOPPER.stream("go").result.output  # wrong: assignment | reportAssignmentType
    print(found)


async def serve(runtime: Runtime) -> None:
    await runtime.answer("s", "ask", "yes")  # wrong: arg-type | reportArgumentType
    await runtime.extend("s", "stepz", 5)  # wrong: arg-type | reportArgumentType
    await runtime.prompt("s", "go", options={"agent": "a"})  # wrong: arg-type | reportArgumentType
    await runtime.create(messages=[{"role": "user", "content": "Hi"}])  # wrong: list-item | reportArgumentType
    await SHOPPER.begin("Hi")  # wrong: arg-type | reportArgumentType
    from_openai("Hi")  # wrong: arg-type | reportArgumentType
    await runtime.supply("s", "call", 5)  # wrong: arg-type | reportArgumentType
    await runtime.set_budget("ann", Limits(cost=5.0))  # wrong: arg-type | reportArgumentType
    await runtime.set_budget("ann", Budget(daily=5.0))  # wrong: arg-type | reportArgumentType
    print((await runtime.account("ann")).today.left.money)  # wrong: attr-defined | reportAttributeAccessIssue
    call("add", {"a": 1})  # wrong: call-arg | reportCallIssue
    Media(5)  # wrong: arg-type | reportArgumentType
    TreeLimits(cost="1")  # wrong: arg-type | reportArgumentType
