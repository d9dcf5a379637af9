"""Correct hooks. Type checkers report nothing here, and infer exactly these types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

from bridle import (
    AfterCall,
    AfterRequest,
    Agent,
    BeforeCall,
    BeforeRequest,
    Change,
    Context,
    Hooks,
    ModelReply,
    Refuse,
    Replace,
    Runtime,
    ScriptedModel,
    ToolCall,
)
from bridle.wire.events import Event, TurnFinishEvent

MODEL = ScriptedModel(["hi"])


@dataclass
class Shop:
    name: str


@dataclass
class Corner(Shop):
    street: str


def guard(ctx: Context[Shop], moment: BeforeCall) -> Refuse | Change | None:
    if moment.tool == ctx.deps.name:
        return Refuse("no")
    return Change({**moment.arguments, "a": 1})


async def guard_later(ctx: Context[Shop], moment: BeforeCall) -> Replace | None:
    return Replace(5)


def cached(moment: BeforeRequest) -> Replace | None:
    return Replace(ModelReply("a", (ToolCall("add", "{}"),)))


def redact(moment: AfterCall) -> Replace:
    return Replace(moment.output.upper())


async def seen(moment: AfterRequest) -> None:
    print(moment.reply.text, moment.usage.total)


def listen(ctx: Context[Shop], event: Event) -> None:
    if isinstance(event, TurnFinishEvent):
        print(event.spent.cost)


async def listen_later(event: Event) -> None: ...


OWN = Hooks(before_call=guard, after_call=redact, on_event=listen, tool="add*", seconds=5)
assert_type(OWN, Hooks[Shop])
ANY = Hooks(before_request=cached)
HOOKS: Hooks[Shop] = Hooks(before_call=guard_later)
Agent(model=MODEL, hooks=[ANY, Hooks(after_request=seen)])
Agent[Shop, str](model=MODEL, hooks=[OWN, ANY, HOOKS, Hooks(before_call=guard_later, on_event=listen_later)])
Agent[Corner, str](model=MODEL, hooks=[OWN, ANY])
assert_type(Agent(model=MODEL, deps_type=Shop, hooks=[OWN, ANY]), Agent[Shop, str])
Agent[Shop, str](model=MODEL, hooks=[Hooks(before_call=lambda moment: Refuse("no"))])
Agent[Shop, str](model=MODEL, hooks=[Hooks(before_call=lambda ctx, moment: Refuse(ctx.deps.name))])
Hooks(before_request=lambda moment: Refuse(f"{len(moment.messages)}"), after_call=lambda moment: print(moment.output))


def serve(runtime: Runtime, events: list[Event]) -> None:
    runtime.listen(events.append)
