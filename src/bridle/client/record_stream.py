"""`follow_record`: yields a session's entries, each once and in order, and its deltas, across lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import httpx2
import msgspec

from bridle.client.connection import Lost, Patience, ServerConnection, session_path
from bridle.core.events import Entry, Live, PartDelta, PartGrown, PartPut
from bridle.core.parts import Reasoning, Text, TurnFinish
from bridle.errors import ServerAway
from bridle.model.sse import EventParts, TooLong
from bridle.seams import begin
from bridle.wire.native_answers import Entries, RecordEvent
from bridle.wire.native_requests import EntriesQuery

_read = msgspec.json.Decoder(RecordEvent).decode


class KnownText:
    """Counts the received characters of each streaming text, so that deltas after a gap are dropped."""

    def __init__(self) -> None:
        self._lengths: dict[str, int] = {}

    def take(self, entry: Entry) -> None:
        """Note what an entry records."""
        for event in entry.events:
            match event:
                case PartPut(part=Text() | Reasoning() as part):
                    self._grow(part.id, len(part.text))
                case PartPut(part=TurnFinish()):
                    self._lengths.clear()
                case PartGrown(id=id, offset=offset, text=text):
                    self._grow(id, offset + len(text))

    def fits(self, delta: PartDelta) -> bool:
        """Return whether a delta adds something to the text before it. Output of calls may have gaps."""
        if delta.kind not in ("text", "reasoning"):
            return True
        known, end = self._lengths.get(delta.part, 0), delta.offset + len(delta.text)
        if delta.offset > known or end <= known:
            # The record brings what is missing, within half a second.
            return False
        self._grow(delta.part, end)
        return True

    def _grow(self, part: str, length: int) -> None:
        self._lengths[part] = max(length, self._lengths.get(part, 0))


async def entries_after(connection: ServerConnection, session: str, after: int = 0) -> tuple[Entry, ...]:
    """Return the entries of a session after a sequence number."""
    path = session_path(session, "/entries")
    return (await connection.ask("GET", path, Entries, query=EntriesQuery(after=after))).entries


async def follow_record(
    connection: ServerConnection, session: str, after: int, until: asyncio.Future[Any] | None
) -> AsyncGenerator[Entry | Live, None]:
    """Yield entries after a sequence number and deltas, endlessly or until `until` is done. See `Sessions.follow`."""
    last = after
    async with aclosing(_connected(connection, session, after)) as stream:
        if until is None:
            async for seen in stream:
                yield seen
            return
        async with aclosing(_until(stream, until)) as seen_until:
            async for seen in seen_until:
                if isinstance(seen, Entry):
                    last = seen.sequence
                yield seen
    # The rest is recorded, and the stream may not have brought it yet.
    for entry in await entries_after(connection, session, last):
        yield entry


async def _until(stream: AsyncIterator[Entry | Live], until: asyncio.Future[Any]) -> AsyncGenerator[Entry | Live, None]:
    """Yield from a stream until a future is done."""
    while not until.done():
        coming = begin(_next(stream))
        try:
            await asyncio.wait([coming, until], return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                yield coming.result()
        finally:
            coming.cancel()
            await asyncio.wait([coming])


async def _next(stream: AsyncIterator[Entry | Live]) -> Entry | Live:
    return await anext(stream)


async def _connected(connection: ServerConnection, session: str, after: int) -> AsyncGenerator[Entry | Live, None]:
    """Yield from one connection after the other; each continues behind the last entry."""
    last, known, waiting = after, KnownText(), Patience(connection)
    while True:
        why: Exception = Lost("the stream has ended")
        try:
            async with aclosing(_events(connection, session, last, waiting)) as events:
                async for event in events:
                    if event.entry is not None and event.entry.sequence == last + 1:
                        last = event.entry.sequence
                        known.take(event.entry)
                        yield event.entry
                    elif event.delta is not None and known.fits(event.delta):
                        yield event.delta
        except (Lost, httpx2.TransportError) as error:
            why = error
        except TooLong:
            # An entry may hold large attachments: it comes whole as an answer.
            for entry in await entries_after(connection, session, last):
                last = entry.sequence
                known.take(entry)
                yield entry
            continue
        await waiting.pause(why)


async def _events(
    connection: ServerConnection, session: str, after: int, waiting: Patience
) -> AsyncGenerator[RecordEvent, None]:
    parts = EventParts()
    async with connection.stream(session_path(session, "/record"), after) as response:
        waiting.succeeded()
        async for chunk in response.aiter_bytes():
            for data in parts.feed(chunk):
                yield _event(data)


def _event(data: bytes) -> RecordEvent:
    try:
        return _read(data)
    except msgspec.MsgspecError as error:
        raise ServerAway(
            f"the stream does not fit this version of Bridle ({error}): use the version of the server"
        ) from error
