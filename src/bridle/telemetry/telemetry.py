"""`Telemetry`: follows the sessions that a runtime drives, and hands their finished spans to exporter and log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from bridle.core.events import Entry
from bridle.engine.bus import Bus
from bridle.engine.hearing import Hearing
from bridle.journal.journal import Journal
from bridle.telemetry.log_lines import log_line
from bridle.telemetry.spans import FinishedSpan, SpanMaker
from bridle.values.traceparent import write_traceparent

LOG = logging.getLogger("bridle.turns")
"""Endings of turns at INFO, steps and calls at DEBUG, refusals and failures at WARNING."""


class Telemetry:
    """The spans of all sessions of a runtime. `close` returns once they are handed over."""

    def __init__(
        self, bus: Bus, journal: Journal, sends: Sequence[Callable[[FinishedSpan], None]], *, content: bool
    ) -> None:
        self._sends = tuple(sends)
        self._content = content
        self._makers: dict[str, SpanMaker] = {}
        self._hearing = Hearing(bus, journal, self._resume, self._take)

    def traceparent(self, session: str, request: str) -> str:
        """Return the header that makes a request part of its turn's trace; empty if the request is not known."""
        maker = self._makers.get(session)
        place = maker.place_of(request) if maker is not None else None
        return write_traceparent(place) if place is not None else ""

    def _resume(self, session: str, before: Sequence[Entry]) -> SpanMaker:
        maker = self._makers[session] = SpanMaker(session, with_content=self._content)
        for span in maker.resume(before):
            self._send(span)
        return maker

    def _take(self, maker: SpanMaker, entry: Entry) -> None:
        for span in maker.spans(entry):
            self._send(span)
        if not maker.is_open:
            self._makers.pop(maker.session, None)
        else:
            self._makers[maker.session] = maker

    def _send(self, span: FinishedSpan) -> None:
        for send in self._sends:
            send(span)

    async def close(self) -> None:
        await self._hearing.end()


def log_span(span: FinishedSpan) -> None:
    """Write the line of a span to Python's `logging`."""
    line = log_line(span)
    LOG.log(line.level, "%s", line.text)
