"""What a session is doing, derived from its record."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.session import Session
from bridle.core.states import Open


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state, and for a retry its number, its cause and when it comes, in active seconds of the turn."""

    state: Literal["idle", "busy", "retry", "paused", "interrupted"]
    attempt: int = 0
    message: str = ""
    next: float = 0.0


def status_of(session: Session, *, held: bool) -> Status:
    """An open ask is a pause; a scheduled try a retry; a held lease work; any other open turn was interrupted.

    An ask from the background does not pause a turn that works on. A turn that awaits subagents holds no lease:
    whether one of them works is for its own status to say.
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
