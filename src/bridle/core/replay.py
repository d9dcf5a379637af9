"""Verifies a recorded session for `bridle replay`: each action must be what `decide` returns, each count add up."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import astuple

from bridle.core.action import Action, CallModel, Compact, Finish, Pause, Run, Settle, Synthesize, Wait
from bridle.core.decide import decide
from bridle.core.events import CallMoved, Entry, PartPut, Recorded
from bridle.core.fold import fold, load
from bridle.core.limits import ROWS, Limit, Reason, Spent
from bridle.core.parts import Request, StepStart, TurnFinish
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Approved, Asking, Pending, Queued, Refused, Repeat, Running, Waiting
from bridle.core.undo import has_mark

TOLERANCE = 1e-9
GRAIN = 0.001


class ReplayDifference(msgspec.Struct, frozen=True):
    """The first difference between record and decisions: entry, turn and step, and both versions."""

    sequence: int
    turn: int
    step: int
    recorded: str
    decided: str


def verified(entries: Sequence[Entry]) -> ReplayDifference | None:
    """Return the first entry that does not follow from those before it; None if all do."""
    session = Session()
    for place, entry in enumerate(entries):
        turn = session.running
        if turn is not None:
            for event in entry.events:
                found = _unlike(session, turn, entry, event)
                if found is not None:
                    step = turn.step.number if turn.step is not None else 0
                    return ReplayDifference(entry.sequence, turn.start.number, step, *found)
        if has_mark((entry,)):
            session = load(entries[: place + 1])
        else:
            fold(session, entry)
    return None


def _unlike(session: Session, turn: OpenTurn, entry: Entry, event: Recorded) -> tuple[str, str] | None:
    """Return the recorded and the decided action if an event begins or ends something else than decided."""
    if isinstance(event, CallMoved):
        return _call(session, turn, entry, event)
    if not isinstance(event, PartPut):
        return None
    part = event.part
    if isinstance(part, StepStart) and part.cap != turn.cap:
        return f"step {part.number} of {part.cap}", f"a cap of {turn.cap}"
    begins = any(isinstance(other, PartPut) and isinstance(other.part, StepStart) for other in entry.events)
    if isinstance(part, StepStart):
        wanted = _step(part.number, 1, part.closing)
    elif isinstance(part, Request) and not begins and part.purpose != "title":
        wanted = _asked(part, turn)
    elif isinstance(part, TurnFinish):
        counted = _miscounted(turn, part)
        if counted is not None:
            return counted
        wanted = f"finish ({part.reason})"
    else:
        return None
    return _compared(session, entry, wanted)


def _asked(request: Request, turn: OpenTurn) -> str:
    if request.purpose in ("compaction", "synthesis"):
        return f"{request.purpose}, attempt {request.attempt}"
    return _step(request.number, request.attempt, turn.step.closing if turn.step is not None else None)


def _call(session: Session, turn: OpenTurn, entry: Entry, event: CallMoved) -> tuple[str, str] | None:
    """Check a call that starts, asks, queues or is refused; its other states follow from no decision."""
    before, after = turn.batch.get(event.id), event.state
    if not isinstance(before, (Pending, Approved, Repeat, Queued)):
        return None
    if isinstance(after, Refused):
        settled = f"settle {event.id}" in _words(decide(session.view(session.elapsed)))
        return None if settled else _compared(session, entry, f"run {event.id}")
    if isinstance(after, (Running, Waiting, Asking, Queued)):
        return _compared(session, entry, f"run {event.id}")
    return None


def _compared(session: Session, entry: Entry, wanted: str) -> tuple[str, str] | None:
    """Compare at several moments: time passes between a decision and its record, and is rounded to a thousandth."""
    moments = (session.elapsed, session.elapsed - GRAIN, entry.elapsed, entry.elapsed + GRAIN)
    if any(wanted in _words(decide(session.view(moment))) for moment in moments):
        return None
    return wanted, ", ".join(_words(decide(session.view(session.elapsed))))


def _words(action: Action) -> list[str]:
    """Return an action as words that can be compared with the record: one item per call."""
    match action:
        case CallModel(number=number, attempt=attempt, closing=closing):
            return [_step(number, attempt, closing)]
        case Finish(reason=reason):
            return [f"finish ({reason})"]
        case Run(calls=calls):
            return [f"run {call}" for call in calls]
        case Settle(calls=calls):
            return [f"settle {call}" for call in calls]
        case Compact(attempt=attempt):
            return [f"compaction, attempt {attempt}"]
        case Synthesize(attempt=attempt):
            return [f"synthesis, attempt {attempt}"]
        case Pause() | Wait():
            return ["wait"]


def _step(number: int, attempt: int, closing: Reason | None) -> str:
    again = f", attempt {attempt}" if attempt > 1 else ""
    return f"step {number}{again}" + (f", closing ({closing})" if closing else "")


def _miscounted(turn: OpenTurn, finish: TurnFinish) -> tuple[str, str] | None:
    """Return the use that the turn reports and the sum of its record, if they differ."""
    added = turn.spent(finish.spent.seconds)
    if all(_equal(row, added.of(row.name), finish.spent.of(row.name)) for row in ROWS):
        return None
    return f"spent {_words_of(finish.spent)}", _words_of(added)


def _equal(row: Limit, added: float, reported: float) -> bool:
    return abs(added - reported) < TOLERANCE or (not row.since_start and not reported)


def _words_of(spent: Spent) -> str:
    return ", ".join(f"{value} {row.units}" for row, value in zip(ROWS, astuple(spent), strict=True))
