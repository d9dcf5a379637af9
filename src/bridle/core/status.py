"""`status_of`: derives the status of a session (idle, busy, retry, paused, interrupted) from its record."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.session import Session
from bridle.core.states import Open


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state; for a retry also its number, its cause and its time, in active seconds of the turn."""

    state: Literal["idle", "busy", "retry", "paused", "interrupted"]
    attempt: int = 0
    message: str = ""
    next: float = 0.0


def status_of(session: Session, *, held: bool) -> Status:
    """Return paused for an open ask, retry for a scheduled try, busy for a held lease; otherwise interrupted.

    An ask from the background does not pause a turn that continues to work. A turn that awaits subagents holds no
    lease: whether one of them works is in its own status.
    """
    turn = session.running
    if turn is None:
        return Status("idle")
    if turn.asks and not (held and turn.background):
        return Status("paused")
    request = turn.request
    if held and request is not None and isinstance(request.state, Open) and request.state.tries:
        last = request.state.tries[-1]
        if last.next > session.elapsed:
            return Status("retry", len(request.state.tries), last.error, last.next)
    return Status("busy") if held else Status("interrupted")
