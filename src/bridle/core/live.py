"""`is_awaited`: whether a live delta belongs to the reply or to a call that is still open in a session."""

from __future__ import annotations

from bridle.core import states
from bridle.core.events import PartDelta
from bridle.core.ids import is_below, reply_id
from bridle.core.session import Session


def is_awaited(session: Session, delta: PartDelta) -> bool:
    """Return whether a delta belongs to a running call, or to the reply that is streaming.

    Deltas of another process may come late, and before the entry that they follow.
    """
    turn = session.running
    if turn is None:
        return False
    if delta.kind == "output":
        return isinstance(turn.batch.get(delta.part), states.Running)
    request = turn.request
    if request is None or not isinstance(request.state, states.Open):
        return False
    return is_below(delta.part, reply_id(request.id, len(request.state.tries)))
