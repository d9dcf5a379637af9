"""`Deltas`: passes live deltas between the processes of a PostgreSQL journal, as notifications that may be dropped."""

from __future__ import annotations

import asyncio
import binascii
import logging
import zlib
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import msgspec

from bridle.core.events import PartDelta
from bridle.errors import JournalError
from bridle.journal import postgres_queries as queries
from bridle.journal.journal import TakesDelta
from bridle.journal.postgres_changes import Changes
from bridle.seams import Clock, begin

LOG = logging.getLogger(__name__)
GATHER_SECONDS = 0.075
MOST_BYTES = 7_900
"""PostgreSQL refuses longer notifications."""
MOST_GATHERED = 100_000
"""Characters that may wait for the next notification; more are dropped."""
MOST_HEARD = 1_000_000
"""Bytes of one notification after its decompression."""
ANNOUNCE_SECONDS = 5.0
FOLLOWED_SECONDS = 12.0
"""Time for which a follower counts after its last announcement."""
WHO = "?"

Rows = Callable[[str, Sequence[str]], Awaitable[object]]
"""Runs a query of the journal."""


@dataclass(slots=True)
class _Piece:
    """Text of one part that follows without a gap."""

    session: str
    first: PartDelta
    texts: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def end(self) -> int:
        return self.first.offset + self.size

    def whole(self) -> tuple[str, PartDelta]:
        return self.session, msgspec.structs.replace(self.first, text="".join(self.texts))


class Deltas:
    """See `DeltaRelay`. Processes announce which sessions they follow; deltas of no other session are sent.

    `me` names this process in its notifications, which come back to it.
    """

    def __init__(self, schema: str, changes: Changes, rows: Rows, clock: Clock, me: str) -> None:
        self._told, self._asked = f"{schema}_deltas", f"{schema}_followers"
        self._changes = changes
        self._rows = rows
        self._clock = clock
        self._me = me
        self._followed: dict[str, float] = {}
        """Sessions that other processes follow, each until a moment."""
        self._takers: dict[str, list[TakesDelta]] = {}
        """Followers in this process, by session."""
        self._unannounced: set[str] = set()
        self._pieces: dict[tuple[str, str, str], _Piece] = {}
        self._gathered = 0
        self._sending: asyncio.Task[None] | None = None
        self._announcing: asyncio.Task[None] | None = None
        self._more = asyncio.Event()
        changes.hear_on(self._told, self._hear_deltas)
        changes.hear_on(self._asked, self._hear_followers)
        changes.on_listening = self._announce_anew

    def send(self, session: str, delta: PartDelta) -> None:
        if self._followed.get(session, 0.0) <= self._clock.monotonic() or self._gathered > MOST_GATHERED:
            return
        piece = self._pieces.setdefault((session, delta.part, delta.kind), _Piece(session, delta))
        if piece.end != delta.offset:
            # Text after a gap fits nowhere.
            return
        self._gathered += len(delta.text)
        piece.texts.append(delta.text)
        piece.size += len(delta.text)
        if self._sending is None:
            self._sending = begin(self._send())

    async def _send(self) -> None:
        try:
            while True:
                await asyncio.sleep(GATHER_SECONDS)
                pieces, self._pieces, self._gathered = self._pieces, {}, 0
                if not pieces:
                    return
                if payload := packed(self._me, pieces.values()):
                    # Deltas may be lost: what is recorded replaces them.
                    with suppress(JournalError):
                        await self._notify(self._told, payload)
        finally:
            self._sending = None

    @contextmanager
    def hear(self, session: str, take: TakesDelta) -> Iterator[None]:
        takers = self._takers.setdefault(session, [])
        takers.append(take)
        self._unannounced.add(session)
        self._more.set()
        self._changes.begin()
        if self._announcing is None:
            self._announcing = begin(self._announce())
        try:
            yield
        finally:
            takers.remove(take)
            if not takers:
                del self._takers[session]

    async def _announce(self) -> None:
        """Tell the other processes which sessions are followed here, for as long as there are any."""
        try:
            while self._takers:
                self._more.clear()
                # Without notifications no delta would arrive.
                if self._changes.hears:
                    fresh, self._unannounced = self._unannounced & self._takers.keys(), set()
                    for payload in announcements(self._me, sorted(fresh)):
                        with suppress(JournalError):
                            await self._notify(self._asked, payload)
                with suppress(TimeoutError):
                    async with asyncio.timeout(ANNOUNCE_SECONDS):
                        await self._more.wait()
                        continue
                self._unannounced |= self._takers.keys()
        finally:
            self._announcing = None

    async def _announce_anew(self) -> None:
        """Announce all followers here and ask for those elsewhere: earlier notifications were not heard."""
        self._unannounced |= self._takers.keys()
        self._more.set()
        with suppress(JournalError):
            await self._notify(self._asked, f"{self._me} {WHO}")

    def _hear_followers(self, payload: str) -> None:
        sender, _, words = payload.partition(" ")
        if sender == self._me:
            return
        if words == WHO:
            self._unannounced |= self._takers.keys()
            self._more.set()
            return
        now = self._clock.monotonic()
        self._followed = {session: until for session, until in self._followed.items() if until > now}
        self._followed |= dict.fromkeys(words.split(), now + FOLLOWED_SECONDS)

    def _hear_deltas(self, payload: str) -> None:
        sender, _, words = payload.partition(" ")
        if sender == self._me or not self._takers:
            return
        try:
            found = unpacked(words)
        except (ValueError, binascii.Error, zlib.error, msgspec.MsgspecError) as error:
            LOG.warning("deltas of another process cannot be read: %s", error)
            return
        for session, delta in found:
            for take in tuple(self._takers.get(session, ())):
                take(delta)

    async def _notify(self, channel: str, payload: str) -> None:
        await self._rows(queries.NOTIFY, (channel, payload))

    async def close(self) -> None:
        """Send and announce nothing more. May be called twice."""
        tasks = [task for task in (self._sending, self._announcing) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def packed(me: str, pieces: Iterable[_Piece]) -> str:
    """Return the longest possible notification with these pieces, the small ones first; empty if none fits."""
    kept = [piece.whole() for piece in sorted(pieces, key=lambda piece: piece.size)]
    while kept:
        words = f"{me} {b64encode(zlib.compress(msgspec.json.encode(kept), 1)).decode()}"
        if len(words) < MOST_BYTES:
            return words
        kept = kept[: len(kept) // 2]
    return ""


def unpacked(words: str) -> list[tuple[str, PartDelta]]:
    """Return the deltas of a notification; raises `ValueError`, `zlib.error` or `MsgspecError`."""
    raw = zlib.decompressobj().decompress(b64decode(words, validate=True), MOST_HEARD)
    return msgspec.json.decode(raw, type=list[tuple[str, PartDelta]])


def announcements(me: str, sessions: Iterable[str]) -> Iterator[str]:
    """Yield the notifications that name these sessions."""
    words = me
    for session in sessions:
        if len(words) + 1 + len(session) >= MOST_BYTES:
            yield words
            words = me
        words += f" {session}"
    if words != me:
        yield words
