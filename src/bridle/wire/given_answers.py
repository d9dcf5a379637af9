"""`given_answer`: the answer that an ask has got, from the record, whichever surface gave it."""

from __future__ import annotations

from collections.abc import Iterable

from bridle.core.context import ANSWERED
from bridle.core.events import CallMoved, Entry
from bridle.core.parts import Call
from bridle.core.states import (
    Approved,
    Asking,
    CallState,
    Done,
    Failed,
    Pending,
    Queued,
    Refused,
    Repeat,
    Running,
    Waiting,
)
from bridle.wire.native_requests import AnswerBody


def given_answer(entries: Iterable[Entry], ask: str) -> AnswerBody | None:
    """Return the answer to an ask of a session; None if it is open, or ended without an answer of a person."""
    asked = ""
    for entry in entries:
        for event in entry.events:
            moved = _moved(event)
            if moved is None:
                continue
            call, state = moved
            if isinstance(state, Asking) and state.ask.id == ask:
                asked = call
            elif call == asked and not isinstance(state, Asking):
                return _answer(ask, state)
    return None


def _moved(event: object) -> tuple[str, CallState] | None:
    """Return a call whose state an event tells, and the state."""
    if isinstance(event, CallMoved):
        return event.id, event.state
    part = getattr(event, "part", None)
    return (part.id, part.state) if isinstance(part, Call) else None


def _answer(ask: str, state: CallState) -> AnswerBody | None:
    match state:
        case Approved(always=always):
            return AnswerBody(ask=ask, choice="always" if always else "once")
        case Refused(refusal=refusal):
            return AnswerBody(ask=ask, choice="reject") if refusal.name in ("rejected", "doom_loop") else None
        case Done(output=output) | Failed(output=output):
            # A question, or a call whose result came from outside.
            return AnswerBody(ask=ask, choice="once", feedback=output.removeprefix(ANSWERED))
        case Pending() | Asking() | Repeat() | Queued() | Running() | Waiting():
            return None
