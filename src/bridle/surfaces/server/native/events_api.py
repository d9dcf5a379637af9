"""`EventsApi`: follows one session, with exact resumption, or the rows of all sessions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from bridle.core.events import Entry
from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.native.operation import Operation
from bridle.surfaces.server.problems import RequestRefused
from bridle.surfaces.server.routes import client_of
from bridle.surfaces.server.session_rows import SessionRows
from bridle.surfaces.server.streams import EventResponse, Outlet, sse
from bridle.wire.events import Event
from bridle.wire.native_requests import FollowQuery, NoQuery
from bridle.wire.projection import EventStream

STREAM = "text/event-stream"


class EventsApi:
    """Streams events. All of them are in the journal, so any server can continue the stream of another one."""

    def __init__(self, server: HttpServer, rows: SessionRows) -> None:
        self._server = server
        self._rows = rows

    async def session(self, request: Request, query: FollowQuery, body: None) -> Response:
        session = request.path_params["session"]
        backend = await self._server.directories.of_session(session)
        after, past = last_event(request, query), await backend.entries(session)
        refuse_unknown(session, past, after)

        async def produce(outlet: Outlet) -> None:
            stream = EventStream(session)
            # Events depend on the entries before them, which are read but not sent again.
            for entry in past:
                events = stream.of_entry(entry)
                if entry.sequence > after:
                    await outlet.put(encoded(events))
            past.clear()
            async with aclosing(backend.follow(session, stream.session.sequence)) as following:
                async for seen in following:
                    events = stream.of_entry(seen) if isinstance(seen, Entry) else stream.of_delta(seen)
                    outlet.put_nowait(encoded(events))

        return EventResponse(produce, self._server, client_of(request))

    async def all(self, request: Request, query: NoQuery, body: None) -> Response:
        return EventResponse(self._rows.follow, self._server, client_of(request))

    def operations(self) -> Sequence[Operation]:
        """Return the operations of this part of the API."""
        return [
            Operation(
                name="follow_session",
                method="GET",
                path="/sessions/{session}/events",
                right="view",
                summary="Follow the events of a session; `Last-Event-ID` or `after` resumes exactly.",
                run=self.session,
                query=FollowQuery,
                answer=Event,
                media=STREAM,
            ),
            Operation(
                name="follow_sessions",
                method="GET",
                path="/events",
                right="view",
                summary="Follow all sessions: a `snapshot` of rows, then each `row` that changes and each one `gone`.",
                run=self.all,
                media=STREAM,
            ),
        ]


def encoded(events: Sequence[Event]) -> bytes:
    """Return the events of one entry or delta; the last one of an entry has its number as id."""
    return b"".join(_encoded(event) for event in events)


def _encoded(event: Event) -> bytes:
    sequence = getattr(event, "sequence", None)
    raw = msgspec.json.encode(event)
    return sse(str(type(event).__struct_config__.tag), raw, sequence if isinstance(sequence, int) else None)


def last_event(request: Request, query: FollowQuery) -> int:
    """Return the number of the last entry that a reader knows; raises `RequestRefused` (400)."""
    given = request.headers.get("last-event-id")
    if given is None:
        return query.after
    if not (given.isascii() and given.isdecimal() and len(given) < 16):
        raise RequestRefused(400, "last-event-id", "must be the id of an event of this stream: a whole number")
    return int(given)


def refuse_unknown(session: str, past: Sequence[Entry], after: int) -> None:
    """Raise `RequestRefused` (409) for a reader that knows entries which the session does not have."""
    if after > past[-1].sequence:
        text = f"session {session} has {past[-1].sequence} entries, and none with the number {after}"
        raise RequestRefused(409, "after", text)
