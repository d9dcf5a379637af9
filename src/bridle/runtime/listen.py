"""`Listening`: calls a program's listener with the public events of a runtime's sessions, without deltas."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from bridle.core.events import Entry
from bridle.core.session import Session
from bridle.engine.bus import Bus
from bridle.engine.hearing import Hearing
from bridle.journal.journal import Journal, folded
from bridle.wire.events import Event
from bridle.wire.projection import EventStream

LOG = logging.getLogger(__name__)

Listen = Callable[[Event], object]


class Listening:
    """One listener: called with every event in order, beside the turns, which never wait for it."""

    def __init__(self, bus: Bus, journal: Journal, listener: Listen) -> None:
        self._listener = listener
        self._hearing = Hearing(bus, journal, _resumed, self._tell)

    def _tell(self, stream: EventStream, entry: Entry) -> None:
        for event in stream.of_entry(entry):
            try:
                self._listener(event)
            except Exception:
                # The listener is foreign code: it breaks no wait and no turn.
                LOG.exception("a listener of the runtime failed")

    async def end(self) -> None:
        """Stop after the events that have already happened. May be called twice."""
        await self._hearing.end()


def _resumed(session: str, before: Sequence[Entry]) -> EventStream:
    return EventStream.resumed(session, folded(session, before, Session()))
