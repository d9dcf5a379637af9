"""What a session is doing, derived from its record."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.parts import Asking, Open
from bridle.core.session import Session


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state, and for a retry its number, its cause and when it comes, in active seconds of the turn."""

    state: Literal["idle", "busy", "retry", "paused", "interrupted"]
    attempt: int = 0
    message: str = ""
    next: float = 0.0


def status_of(session: Session, *, held: bool) -> Status:
    """An open ask is a pause; a scheduled try a retry; a held lease work; any other open turn was interrupted."""
    turn = session.running
    if turn is None:
        return Status("idle")
    if any(isinstance(state, Asking) for state in turn.batch.values()):
        return Status("paused")
    request = turn.request
    if held and request is not None and isinstance(request.state, Open) and request.state.tries:
        last = request.state.tries[-1]
        if last.next > session.elapsed:
            return Status("retry", len(request.state.tries), last.error, last.next)
    return Status("busy") if held else Status("interrupted")
