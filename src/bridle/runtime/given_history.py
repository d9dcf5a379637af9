"""Records the conversation with which a session was created, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.core.events import PartPut
from bridle.core.parts import History
from bridle.errors import ConfigError
from bridle.turn.record import Record

if TYPE_CHECKING:
    from bridle.runtime.runtime import Runtime


async def begin_with(runtime: Runtime, session: str, history: History) -> None:
    """Record the conversation that a new session begins with; a repetition changes nothing.

    Raises `ConfigError` if the session exists and began with another one, or with none.
    """
    known = (await runtime.load(session)).parts.get(history.id)
    if known is None:
        async with runtime.leased(session) as lease:
            state = await runtime.load(session)
            known = state.parts.get(history.id)
            if known is None and not len(state.messages):
                record = Record(state, runtime.journal, lease, runtime.seams.clock, runtime.bus.publish)
                await record.append(PartPut(known := history))
    if known != history:
        raise ConfigError(f"session {session} exists and did not begin with these messages: choose a new id")
