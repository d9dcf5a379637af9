"""The whole policy of the loop: what a turn has recorded decides what is done next."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.limits import LimitName, Reason
from bridle.core.parts import Halt, Refusal
from bridle.core.turn import Step, Turn

MAX_ATTEMPTS = 3
MAX_EMPTY_REPLIES = 2


class CallModel(msgspec.Struct, frozen=True):
    """Ask the model for a step."""

    number: int
    attempt: int
    tools: Literal["offered", "off"]
    closing: Reason | None = None
    warn: tuple[LimitName, ...] = ()


class Run(msgspec.Struct, frozen=True):
    """Run these calls together."""

    calls: tuple[str, ...]


class Settle(msgspec.Struct, frozen=True):
    """End these calls without running them."""

    calls: tuple[str, ...]
    refusal: Refusal


class Pause(msgspec.Struct, frozen=True):
    """A person is awaited for these calls."""

    calls: tuple[str, ...]


class Finish(msgspec.Struct, frozen=True):
    """End the turn."""

    reason: Reason
    detail: str = ""


Action = CallModel | Run | Settle | Pause | Finish


def decide(turn: Turn) -> Action:
    """Name the next action of a turn that has been recovered."""
    step = turn.step
    answered = step is not None and step.final and not turn.prompted
    if turn.halt is not None and not answered:
        return _stop(turn, turn.halt)
    if turn.pending:
        return Run(turn.pending)
    if turn.asking:
        return Pause(turn.asking)
    if step is None:
        return _next_step(turn, 1)
    if step.state in ("open", "interrupted"):
        return _after_death(turn, step)
    if step.closing is not None:
        return Finish(step.closing)
    if step.empties and not turn.doom:
        return Finish("empty") if step.empties >= MAX_EMPTY_REPLIES else _again(turn, step)
    if answered or (turn.cap == 0 and turn.closing is None):
        return Finish("answered")
    return _next_step(turn, step.number + 1)


def _stop(turn: Turn, halt: Halt) -> Action:
    unsettled = turn.pending + turn.asking
    if unsettled:
        return Settle(unsettled, Refusal("aborted" if halt.reason == "aborted" else "superseded"))
    return Finish(halt.reason, halt.detail)


def _after_death(turn: Turn, step: Step) -> Action:
    if step.deaths < MAX_ATTEMPTS:
        return _again(turn, step)
    if step.closing is not None:
        return Finish(step.closing)
    return Finish("error", f"step {step.number} was cut off by the death of the process {step.deaths} times")


def _again(turn: Turn, step: Step) -> Action:
    if turn.refused is not None:
        # The step cannot be paid for any more: then the turn closes, or has closed.
        return _next_step(turn, step.number + 1) if step.closing is None else Finish(step.closing)
    tools: Literal["offered", "off"] = "off" if step.closing is not None or turn.cap == 0 else "offered"
    return CallModel(step.number, step.requests + 1, tools, step.closing)


def _next_step(turn: Turn, number: int) -> Action:
    closing = turn.closing
    if closing is None and 0 < turn.cap <= number:
        closing = "step_cap"
    if closing is not None:
        # A talk-only turn has no closing step, and one that cannot be paid for is not asked for.
        off = turn.closing_refused or turn.cap == 0
        return Finish(closing) if off else CallModel(number, 1, "off", closing)
    if turn.cap == 0:
        return CallModel(number, 1, "off")
    would_be = msgspec.structs.replace(turn.spent, steps=number)
    limits = msgspec.structs.replace(turn.limits, steps=turn.cap)
    return CallModel(number, 1, "offered", None, limits.nearly_reached(would_be, turn.warned))
