"""Mistakes in hooks. Each line with one names what mypy and pyright report for it, and nothing else is."""

from __future__ import annotations

from dataclasses import dataclass

from bridle import (
    AfterCall,
    Agent,
    BeforeCall,
    BeforeRequest,
    Change,
    Context,
    Hooks,
    Refuse,
    Replace,
    Runtime,
    ScriptedModel,
)

MODEL = ScriptedModel(["hi"])


@dataclass
class Shop:
    name: str


@dataclass
class Bank:
    money: int


def guard(ctx: Context[Shop], moment: BeforeCall) -> Refuse | Change | None:
    return Refuse(moment.outputs)  # wrong: attr-defined | reportAttributeAccessIssue


def of_bank(ctx: Context[Bank], moment: BeforeCall) -> None: ...


def redact(moment: AfterCall) -> Replace:
    return Replace(moment.arguments)  # wrong: attr-defined | reportAttributeAccessIssue


def told(moment: AfterCall) -> str:
    return moment.output


def changed(moment: BeforeRequest) -> Change | None:
    return None


OWN = Hooks(before_call=guard)
Agent[Shop, str](model=MODEL, hooks=[Hooks(before_call=of_bank)])  # wrong: arg-type | reportArgumentType
Agent[Bank, str](model=MODEL, hooks=[OWN])  # wrong: list-item | reportArgumentType
Agent(model=MODEL, hooks=[guard])  # wrong: list-item | reportArgumentType
Agent(model=MODEL, hooks=OWN)  # wrong: call-overload | reportArgumentType
Hooks(before_call=guard, on_event=of_bank)  # wrong: arg-type | reportArgumentType
Hooks(after_call=guard)  # wrong: arg-type | reportArgumentType
Hooks(before_request=redact)  # wrong: arg-type | reportArgumentType
Hooks(after_call=told)  # wrong: arg-type | reportArgumentType
Hooks(before_request=changed)  # wrong: arg-type | reportArgumentType
Hooks(before_call=lambda: None)  # wrong: arg-type | reportArgumentType
Hooks(before_cal=guard)  # wrong: call-arg | reportCallIssue
Hooks(seconds="5")  # wrong: arg-type | reportArgumentType
Refuse(5)  # wrong: arg-type | reportArgumentType
Change("a")  # wrong: arg-type | reportArgumentType


def serve(runtime: Runtime) -> None:
    runtime.listen(redact)  # wrong: arg-type | reportArgumentType
