"""The whole policy of the agent loop: a pure function from the recorded state of a turn to its next action."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.action import Action, CallModel, Compact, Finish, Pause, Run, Settle, Synthesize, Wait
from bridle.core.parts import Halt
from bridle.core.states import Refusal
from bridle.core.turn import SideRequest, Step, Turn

MAX_ATTEMPTS = 3
MAX_EMPTY_REPLIES = 2
MAX_BLANK_SUMMARIES = 2
MAX_COMPACTIONS = 2
MAX_REMINDERS = 3
UNMET = "no answer met the schema"


def decide(turn: Turn) -> Action:
    """Return the next action of a turn that has been recovered."""
    action = _next(turn)
    if turn.background and isinstance(action, (CallModel, Finish)):
        # A turn never ends before its background subagents: an answer waits for them, any other ending aborts them.
        if isinstance(action, Finish) and action.reason in ("answered", "synthesized"):
            return Wait(turn.background)
        if isinstance(action, Finish) or action.closing is not None:
            return Settle(turn.background, Refusal("superseded"))
    return action


def _next(turn: Turn) -> Action:
    step = turn.step
    answered = step is not None and step.final and not turn.prompted
    if turn.halt is not None and (not answered or turn.background):
        return _stop(turn, turn.halt)
    if turn.pending:
        return Run(turn.pending)
    if turn.queued and (turn.places or not (turn.waiting or turn.background)):
        return Run(turn.queued)
    if turn.asking:
        return Pause(turn.asking)
    if turn.waiting or turn.recalled or turn.queued:
        return Wait(turn.waiting + turn.recalled + (turn.background if turn.queued else ()))
    if turn.synthesis == "done" and not turn.prompted:
        return Finish("synthesized")
    if turn.output == "given" and not turn.prompted and turn.closing is None:
        return Finish("answered")
    if step is None:
        return _begin(turn)
    if step.state in ("open", "interrupted"):
        return _after_death(turn, step)
    if step.closing is not None:
        return Finish(step.closing)
    if step.empties and not turn.doom:
        return Finish("empty") if step.empties >= MAX_EMPTY_REPLIES else _again(turn, step)
    if turn.output == "missed":
        return Finish("error", UNMET)
    if answered or (turn.cap == 0 and turn.closing is None):
        return _answered(turn, step)
    if turn.synthesis == "due" and not turn.prompted and turn.closing is None:
        side_request = _side_request(turn, "synthesis")
        if side_request.deaths < MAX_ATTEMPTS:
            return Synthesize(side_request.requests + 1)
    return _next_step(turn, step.number + 1)


def _begin(turn: Turn) -> Action:
    if turn.prompted:
        return _next_step(turn, 1)
    # The turn was opened to compact, not to answer a prompt.
    return _compact(turn) if turn.crowded and not turn.compactions else Finish("answered")


def _stop(turn: Turn, halt: Halt) -> Action:
    unsettled = turn.pending + turn.asking + turn.queued + turn.waiting + turn.background
    if unsettled:
        return Settle(unsettled, Refusal("aborted" if halt.reason == "aborted" else "superseded"))
    if turn.recalled:
        return Wait(turn.recalled)
    return Finish(halt.reason, halt.detail)


def _answered(turn: Turn, step: Step) -> Action:
    """Return the action after a reply without calls; an answer that must fit a schema may still be missing."""
    if turn.output != "wanted":
        return Finish("answered")
    asked_enough = turn.reminded >= MAX_REMINDERS or turn.cap == 0
    return Finish("error", UNMET) if asked_enough else _next_step(turn, step.number + 1)


def _after_death(turn: Turn, step: Step) -> Action:
    if step.deaths < MAX_ATTEMPTS:
        return _again(turn, step)
    if step.closing is not None:
        return Finish(step.closing)
    return Finish("error", f"step {step.number} was cut off by the death of the process {step.deaths} times")


def _again(turn: Turn, step: Step) -> Action:
    if turn.refused is not None:
        # The step can no longer be paid for: the turn closes, or has closed.
        return _next_step(turn, step.number + 1) if step.closing is None else Finish(step.closing)
    tools: Literal["offered", "off"] = "off" if step.closing is not None or turn.cap == 0 else "offered"
    return _fitting(turn, CallModel(step.number, step.requests + 1, tools, step.closing))


def _next_step(turn: Turn, number: int) -> Action:
    closing, cap = turn.closing, turn.cap
    if closing is None and 0 < cap <= number:
        closing = "step_cap"
    if closing is not None:
        # A turn without tools has no closing step, and a closing step that cannot be paid for is not requested.
        off = turn.closing_refused or cap == 0
        return Finish(closing) if off else _fitting(turn, CallModel(number, 1, "off", closing))
    if cap == 0:
        return _fitting(turn, CallModel(number, 1, "off"))
    would_be = msgspec.structs.replace(turn.spent, steps=number)
    return _fitting(turn, CallModel(number, 1, "offered", None, turn.limits.nearly_reached(would_be, turn.warned)))


def _fitting(turn: Turn, call: CallModel) -> Action:
    """Return the request, or the compaction that must precede it so that it fits the window."""
    if not turn.crowded:
        return call
    return Finish("context_full") if turn.compactions >= MAX_COMPACTIONS else _compact(turn)


def _compact(turn: Turn) -> Action:
    side_request = _side_request(turn, "compaction")
    lost = (
        side_request.state == "failed"
        or side_request.deaths >= MAX_ATTEMPTS
        or side_request.blanks >= MAX_BLANK_SUMMARIES
    )
    return Compact(side_request.requests + 1, "bridle" if lost else "model")


def _side_request(turn: Turn, purpose: Literal["compaction", "synthesis"]) -> SideRequest:
    """Return the recorded side request for this purpose, or a new one if none has begun."""
    return (
        turn.side_request
        if turn.side_request is not None and turn.side_request.purpose == purpose
        else SideRequest(purpose)
    )
