"""`Changes`: wakes waiters when other processes change a session: PostgreSQL's notifications, else polling."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal

import psycopg
from psycopg import Notify

from bridle.errors import JournalError
from bridle.journal.postgres_append import ANY_SESSION
from bridle.journal.postgres_server import Connection, Server, is_pooled
from bridle.seams import begin

LOG = logging.getLogger(__name__)
POLL_SECONDS = 5.0
POLL_UNHEARD_SECONDS = 1.0
AGAIN_SECONDS = 1.0

Kind = Literal["entry", "rest", "item"]
"""A session has a new entry, its turn has ended or its lease is free, or its inbox has a new item."""
MARKS: dict[str, Kind] = {"!": "rest", "@": "item"}


class Changes:
    """Wakes waiters of sessions. Changes of this process are told directly, those of others by the server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._waiters: defaultdict[int, set[_Waiter]] = defaultdict(set)
        self._own = 0
        self._task: asyncio.Task[None] | None = None
        self._hearers: dict[str, Callable[[str], None]] = {server.channel: self._hear_changes}
        self.hears = False
        """Whether notifications arrive."""
        self.on_listening: Callable[[], Awaitable[None]] | None = None
        """Called when notifications begin to arrive: earlier ones were not heard."""

    def hear_on(self, channel: str, hearer: Callable[[str], None]) -> None:
        """Call `hearer` with the notifications on another channel. To be called before the first `watch`."""
        self._hearers[channel] = hearer

    def begin(self) -> None:
        """Begin to listen. May be called twice."""
        if self._task is None:
            self._task = begin(self._listen())

    def watch(self, number: int, *kinds: Kind) -> _Waiter:
        """Return a waiter for changes of a session from now on."""
        self.begin()
        return _Waiter(self, number, frozenset(kinds))

    def tell(self, number: int, kind: Kind) -> None:
        """Wake the waiters of a session for this kind of change."""
        for waiter in self._waiters.get(number, ()):
            if kind in waiter.kinds:
                waiter.event.set()

    def own(self, pid: int) -> None:
        """Ignore notifications of this process of the server, and of no earlier one: it sends those of this journal."""
        self._own = pid

    def join(self, waiter: _Waiter) -> None:
        self._waiters[waiter.number].add(waiter)

    def leave(self, waiter: _Waiter) -> None:
        self._waiters[waiter.number].discard(waiter)
        if not self._waiters[waiter.number]:
            del self._waiters[waiter.number]

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _listen(self) -> None:
        told = False
        while self._server.listens:
            try:
                connection = await self._server.connect(direct=True)
            except JournalError as error:
                # Once for each time that the server is away, however long it takes.
                level, told = logging.DEBUG if told else logging.WARNING, True
                LOG.log(level, "the journal is polled, since its notifications cannot be heard: %s", error)
            else:
                told = False
                async with connection:
                    with suppress(psycopg.Error):
                        await self._hear(connection)
            self.hears = False
            await asyncio.sleep(AGAIN_SECONDS)

    async def _hear(self, connection: Connection) -> None:
        if await is_pooled(connection):
            if self._server.direct != self._server.conninfo:
                LOG.warning("the journal is polled: journal.listen_url leads through a pool of connections")
            self._server.listens = False
            return
        for channel in self._hearers:
            await connection.execute(f"LISTEN {channel}".encode())
        self.hears = True
        # Changes between two connections were not heard.
        self._tell_all()
        if self.on_listening is not None:
            await self.on_listening()
        async for notify in connection.notifies():
            self._heard(notify)

    def _heard(self, notify: Notify) -> None:
        if notify.pid != self._own or notify.channel != self._server.channel:
            self._hearers[notify.channel](notify.payload)

    def _hear_changes(self, payload: str) -> None:
        if payload == ANY_SESSION:
            self._tell_all()
            return
        for word in payload.split(","):
            kind = MARKS.get(word[:1], "entry")
            number = word if kind == "entry" else word[1:]
            if number.isdecimal():
                self.tell(int(number), kind)

    def _tell_all(self) -> None:
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.event.set()


class _Waiter:
    """Waits for changes of one session; use it as a context manager."""

    def __init__(self, changes: Changes, number: int, kinds: frozenset[Kind]) -> None:
        self._changes = changes
        self.number = number
        self.kinds = kinds
        self.event = asyncio.Event()

    def __enter__(self) -> _Waiter:
        self._changes.join(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._changes.leave(self)

    async def wait(self, within: float = POLL_SECONDS) -> None:
        """Return after a change, or after a while without one: notifications may be lost."""
        seconds = POLL_SECONDS if self._changes.hears else POLL_UNHEARD_SECONDS
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, min(seconds, within))):
                await self.event.wait()
        self.event.clear()
