"""`Hub`: follows the sessions that clients may watch, and passes their events on to every open stream."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import msgspec

from bridle.core.events import SessionInfo
from bridle.errors import BridleError, NoSuchSession
from bridle.runtime.project import Backend
from bridle.runtime.sessions import SessionRow
from bridle.surfaces.server.opencode import events, ids
from bridle.surfaces.server.opencode.projection import IDLE, Projection
from bridle.surfaces.server.opencode.server_warnings import server_warnings
from bridle.surfaces.server.opencode.session_facts import milliseconds, project_id
from bridle.surfaces.server.opencode.tracker import Tracker, show_waiting
from bridle.surfaces.server.streams import SlowReaderError

LOG = logging.getLogger(__name__)
LOOK_SECONDS = 1.0
HEARTBEAT_SECONDS = 10.0
KEEP_SECONDS = 60.0
"""How long an idle session is followed after its last change."""
QUIET_SECONDS = 3.0
"""A working session that tells nothing for this long may have lost its process."""
LATELY_SECONDS = 600.0
RECENT_SECONDS = 0.5
SENT_SECONDS = 1.0
READ_SECONDS = 0.1
"""Time for a client to read its stream before it reads the answer, on which `opencode run` leaves."""
MOST_ACTIVE = 50
MOST_ANSWERED = 20
"""Answers of a session with which it begins."""
MOST_SENT_AGAIN = 50
"""Messages of a session with which a stream over everything begins."""


class Served(Protocol):
    """The directories that a server offers; sessions of other directories are not found."""

    @property
    def served(self) -> Sequence[Path]:
        """The served directories."""

    async def backend(self, directory: str | None = None) -> Backend:
        """Return the backend of a directory, by default the first."""

    async def of_session(self, session: str, method: str = "GET") -> Backend:
        """Return the backend of a session's directory; raises `NoSuchSession`."""

    async def rows(self) -> list[SessionRow]:
        """Return all sessions of the served directories, the last changed first."""

    def forget(self, sessions: Sequence[str]) -> None:
        """Forget deleted sessions."""


class Sink(Protocol):
    """Queue of the lines for one reader."""

    def put_nowait(self, chunk: bytes) -> None:
        """Add lines; raises `SlowReaderError` if too many wait."""

    async def sent(self) -> None:
        """Return once everything has been sent."""


class ClientStream:
    """The stream of one reader; `directory` is empty for a stream over everything."""

    def __init__(self, directory: str, sink: Sink) -> None:
        self.directory = directory
        self.sent = sink.sent
        self._put = sink.put_nowait
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done at the end; fails with `SlowReaderError` for a reader that is too slow."""
        self.is_warned = bool(directory)
        """Whether its reader was told of a missing sandbox; programs, which follow one directory, are not."""

    def put(self, line: bytes) -> None:
        """Add an event; the stream ends if its reader is too slow, and the reader connects again."""
        try:
            self._put(line)
        except SlowReaderError as error:
            if not self.over.done():
                self.over.set_exception(error)

    def end(self) -> None:
        """End the stream. May be called twice."""
        if not self.over.done():
            self.over.set_result(None)


class Hub:
    """The state that the endpoints share. All of it comes from the record, except prompts just sent."""

    def __init__(self, served: Served, missing_sandbox: str = "") -> None:
        """`missing_sandbox` says why commands run without a sandbox; it is empty if they run in one."""
        self.served = served
        self._missing_sandbox = missing_sandbox
        self._trackers: dict[str, asyncio.Task[Tracker]] = {}
        self._streams: set[ClientStream] = set()
        self._looking: asyncio.Task[None] | None = None
        self._known: dict[str, int] = {}
        """The last entry of each session when all were looked at."""
        self._open: dict[str, tuple[int, bool]] = {}
        """Whether a session has an open turn, by its last entry."""
        self._recent: deque[tuple[float, str, str]] = deque(maxlen=1_000)
        """Prompts just sent, with their time, session and message."""
        self._number = 0
        self._opened = asyncio.Event()
        self._last_opened = -RECENT_SECONDS

    def now(self) -> int:
        """Return the time in milliseconds."""
        return milliseconds(datetime.now(UTC).timestamp())

    def next_number(self) -> int:
        """Return another number each time."""
        self._number += 1
        return self._number

    async def track(self, session: str, after: int | None = None) -> Tracker:
        """Follow a session, and report the changes after this entry; by default, only new ones."""
        task = self._trackers.get(session)
        if task is None or (task.done() and (task.cancelled() or task.exception() or task.result().is_over)):
            task = self._trackers[session] = asyncio.create_task(self._started(session, after))
        try:
            return await asyncio.shield(task)
        except BridleError:
            self._trackers.pop(session, None)
            raise

    async def _started(self, session: str, after: int | None) -> Tracker:
        tracker = Tracker(session, await self.served.of_session(session), self)
        await tracker.start(after)
        return tracker

    def tracked(self, session: str) -> Tracker | None:
        """Return the tracker of a session that is followed."""
        task = self._trackers.get(session)
        found = task.done() and not task.cancelled() and task.exception() is None if task is not None else False
        return task.result() if task is not None and found and not task.result().is_over else None

    async def view(self, session: str) -> Projection:
        """Return a session as clients know it now; raises `NoSuchSession`."""
        tracker = self.tracked(session)
        if tracker is not None:
            return tracker.projection
        backend = await self.served.of_session(session)
        projection = Projection(session)
        for entry in await backend.entries(session):
            projection.of_entry(entry)
        await show_waiting(backend, projection)
        return projection

    def sent(self, session: str, message: str) -> None:
        """Remember a prompt that was just submitted: a stream that opens now begins with it."""
        self._recent.append((asyncio.get_running_loop().time(), session, message))

    async def warn(self) -> None:
        """Send the server's warnings to each terminal once, after the next prompt.

        A terminal application that has just begun shows no messages yet.
        """
        unwarned = [stream for stream in self._streams if not stream.is_warned]
        if not unwarned:
            return
        for stream in unwarned:
            stream.is_warned = True
        for toast in await server_warnings(self._missing_sandbox, self.served.served, self.served.backend):
            for stream in unwarned:
                stream.put(self.line(toast, "", is_global=True))

    def publish(self, directory: str, told: Iterable[events.Told]) -> None:
        """Pass events on to all streams of this directory."""
        for event in told:
            kind, properties = events.body(event)
            one, of_all = self._lines(directory, kind, properties)
            fits: dict[str, bytes] = {"": of_all}
            for stream in self._streams:
                line = fits.get(stream.directory)
                if line is None:
                    line = fits[stream.directory] = one if not directory or _same(stream.directory, directory) else b""
                if line:
                    stream.put(line)

    def _lines(self, directory: str, kind: str, properties: Any) -> tuple[bytes, bytes]:
        """Return an event as both kinds of streams have it."""
        payload = {"id": ids.event_id(self.now(), self.next_number()), "type": kind, "properties": properties}
        around = {"directory": directory or "global", "project": project_id(directory), "payload": payload}
        return (b"data: %b\n\n" % msgspec.json.encode(payload), b"data: %b\n\n" % msgspec.json.encode(around))

    def line(self, event: events.Told, directory: str, *, is_global: bool) -> bytes:
        """Return an event for one stream."""
        return self._lines(directory, *events.body(event))[is_global]

    async def open_stream(self, directory: str, sink: Sink) -> ClientStream:
        """Return a stream of all new events, which begins with the current state or the most recent prompts."""
        if not self._known:
            self._known = {row.info.id: row.sequence for row in await self.served.rows()}
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        stream = ClientStream(directory, sink)
        stream.put(self.line(events.Connected(), directory, is_global=not directory))
        beginning = self._of_recent(directory) if directory else await self._of_active()
        # No await between the state and the stream: nothing is lost or told twice.
        stream.put(b"".join(self.line(event, place, is_global=not directory) for place, event in beginning))
        self._streams.add(stream)
        self._last_opened = asyncio.get_running_loop().time()
        self._opened.set()
        return stream

    async def all_sent(self, message: str) -> None:
        """Return once the events of a prompt have been read, or after a moment: clients leave at its answer.

        A client that opens its stream together with its prompt may come later than the answer of a fast model.
        """
        loop = asyncio.get_running_loop()
        at = next((at for at, _, sent in reversed(self._recent) if sent == message), 0.0)
        while self._last_opened < at - RECENT_SECONDS and loop.time() < at + RECENT_SECONDS:
            self._opened.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._opened.wait(), at + RECENT_SECONDS - loop.time())
        waiting = [asyncio.create_task(stream.sent()) for stream in self._streams]
        if waiting:
            await asyncio.wait(waiting, timeout=SENT_SECONDS)
            for task in waiting:
                task.cancel()
            await asyncio.sleep(READ_SECONDS)

    def close_stream(self, stream: ClientStream) -> None:
        """Forget a stream whose reader has gone."""
        self._streams.discard(stream)

    def _of_recent(self, directory: str) -> list[tuple[str, events.Told]]:
        """Return the events of prompts submitted just now, as far as they have led."""
        since = asyncio.get_running_loop().time() - RECENT_SECONDS
        found: list[tuple[str, events.Told]] = []
        for at, session, message in self._recent:
            tracker = self.tracked(session)
            if at < since or tracker is None or not _same(directory, tracker.projection.info.directory):
                continue
            projection = tracker.projection
            shown = projection.talk.messages.get(message)
            if shown is not None:
                told = upserts(projection, since=shown.info.time.created)
                found += [(projection.info.directory, event) for event in told]
        return found

    async def _of_active(self) -> list[tuple[str, events.Told]]:
        """Return the state of all sessions that work, that wait for a person, or that changed lately."""
        projections = await self.active()
        return [
            (projection.info.directory, event)
            for projection in projections
            for event in upserts(projection, most=MOST_SENT_AGAIN)
        ]

    async def active(self) -> list[Projection]:
        """Return the sessions that work, that wait for a person, or that changed lately."""
        rows = await self.served.rows()
        lately = datetime.now(UTC).timestamp() - LATELY_SECONDS
        for row in rows[:MOST_ACTIVE]:
            session = row.info.id
            if self.tracked(session) is None and (row.updated > lately or await self._is_open(row)):
                try:
                    await self.track(session)
                except BridleError as error:
                    LOG.info("session %s is left out: %s", session, error)
        found = (self.tracked(row.info.id) for row in rows)
        return [tracker.projection for tracker in found if tracker is not None]

    async def _is_open(self, row: SessionRow) -> bool:
        known = self._open.get(row.info.id)
        if known is None or known[0] != row.sequence:
            try:
                is_open = (await self.view(row.info.id)).status != IDLE
            except BridleError:
                is_open = False
            known = self._open[row.info.id] = row.sequence, is_open
        return known[1]

    async def _look(self) -> None:
        """Follow sessions that others change, as long as there are readers, and leave those that rest."""
        beaten = asyncio.get_running_loop().time()
        while self._streams or self._trackers:
            await asyncio.sleep(LOOK_SECONDS)
            if asyncio.get_running_loop().time() - beaten >= HEARTBEAT_SECONDS:
                beaten = asyncio.get_running_loop().time()
                self.publish("", [events.Heartbeat()])
            try:
                await self._find_changed()
            except BridleError as error:
                LOG.warning("sessions cannot be listed: %s", error)
            now = asyncio.get_running_loop().time()
            for session in tuple(self._trackers):
                tracker = self.tracked(session)
                if tracker is not None:
                    await self._tend(session, tracker, now - tracker.touched)

    async def _tend(self, session: str, tracker: Tracker, rested: float) -> None:
        """Look at a session that has not changed for some seconds."""
        if tracker.is_idle and rested > KEEP_SECONDS:
            self._known[session] = tracker.projection.sequence
            del self._trackers[session]
            tracker.stop()
        elif not tracker.is_idle and rested > QUIET_SECONDS:
            try:
                await tracker.look()
            except BridleError as error:
                LOG.warning("session %s cannot be read: %s", session, error)

    async def _find_changed(self) -> None:
        for row in await self.served.rows():
            session, known = row.info.id, self._known.get(row.info.id, 0)
            if row.sequence > known:
                self._known[session] = row.sequence
                if self.tracked(session) is None:
                    try:
                        await self.track(session, known)
                    except NoSuchSession:
                        continue

    async def forget(self, infos: Sequence[SessionInfo]) -> None:
        """End following deleted sessions."""
        for info in infos:
            task = self._trackers.pop(info.id, None)
            if task is not None and task.done() and not task.cancelled() and task.exception() is None:
                await task.result().ended()
        self.served.forget([info.id for info in infos])

    async def close(self) -> None:
        """End all streams and stop following. May be called twice."""
        for stream in self._streams:
            stream.end()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        for session in tuple(self._trackers):
            tracker = self.tracked(session)
            del self._trackers[session]
            if tracker is not None:
                await tracker.ended()


def upserts(projection: Projection, *, since: int = 0, most: int = 0) -> Iterator[events.Told]:
    """Yield the events that bring a client to the state of a session: never a delta, the status last."""
    name = projection.name
    yield events.SessionUpdated(sessionID=name, info=projection.shown())
    listed = [each for each in projection.talk.listed() if each.info.time.created >= since]
    for message in listed[-most:]:
        yield events.MessageUpdated(sessionID=name, info=message.info)
        for part in message.parts:
            yield events.PartUpdated(sessionID=name, part=part, time=projection.at)
    if projection.todos:
        yield events.TodoUpdated(sessionID=name, todos=projection.todos)
    if not since:
        # A client that was away while an ask was answered still shows it.
        yield from islice(reversed(projection.answered.values()), MOST_ANSWERED)
    if projection.status != IDLE or not (since and projection.waiting):
        # Clients that have just sent a prompt leave when they hear that the session is idle.
        yield events.StatusChanged(sessionID=name, status=projection.status)
        if projection.status == IDLE:
            yield events.SessionIdle(sessionID=name)
    yield from projection.asks.values()


def _same(one: str, other: str) -> bool:
    return one == other or Path(one).resolve() == Path(other).resolve()
