"""`EventResponse`: server-sent events to one reader, with heartbeats; a reader that is too slow is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bridle.errors import JournalError
from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.limits import ABORT
from bridle.surfaces.server.problems import RequestRefused, refused
from bridle.surfaces.server.routes import Client

HEARTBEAT = b": heartbeat\n\n"
OPENING = b": open\n\n"
"""Tells a reader that its stream has begun, also where a proxy keeps headers back until there is a body."""


class SlowReaderError(Exception):
    """A reader has not taken its events in time."""


class Outlet:
    """The events that wait for one reader."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._taken = asyncio.Event()
        self._sent = asyncio.Event()

    def put_nowait(self, chunk: bytes) -> None:
        """Add an event as it happens; raises `SlowReaderError` if too many wait."""
        if self._chunks.qsize() >= self._most:
            raise SlowReaderError
        self._sent.clear()
        self._chunks.put_nowait(chunk)

    async def put(self, chunk: bytes) -> None:
        """Add an event of the past, once there is room."""
        while self._chunks.qsize() >= self._most:
            self._taken.clear()
            await self._taken.wait()
        self._sent.clear()
        self._chunks.put_nowait(chunk)

    async def sent(self) -> None:
        """Return once everything that was put has been sent."""
        await self._sent.wait()

    def end(self) -> None:
        """End the stream after the waiting events."""
        self._chunks.put_nowait(None)

    async def take(self, seconds: float) -> bytes | None:
        """Return the waiting events, a heartbeat if none comes in this time, or None at the end.

        A caller that calls again has sent the events that it took before.
        """
        if self._chunks.empty():
            self._sent.set()
        try:
            async with asyncio.timeout(seconds):
                chunk = await self._chunks.get()
        except TimeoutError:
            return HEARTBEAT
        self._taken.set()
        return chunk


Produce = Callable[[Outlet], Awaitable[None]]
"""Puts events into an outlet, until there are no more."""


def sse(kind: str, data: bytes, id: int | None = None) -> bytes:
    """Return an event in the format of server-sent events; JSON has no line breaks."""
    named = f"id: {id}\n" if id is not None else ""
    return f"{named}event: {kind}\ndata: ".encode() + data + b"\n\n"


class EventResponse(Response):
    """An answer that goes on until its events end, its reader leaves, its token is revoked or the server stops."""

    media_type = "text/event-stream"

    def __init__(self, produce: Produce, server: HttpServer, client: Client, *, opening: bytes = OPENING) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        # The length of a stream is not known.
        del self.headers["content-length"]
        self._produce = produce
        self._server = server
        self._client = client
        self._opening = opening
        self._limits = server.policy.limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._server.followers.place(self._client.digest or self._client.name):
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await self._stream(scope, receive, send)
        except RequestRefused as error:
            await refused(error)(scope, receive, send)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        outlet = Outlet(self._limits.waiting_events)
        sending = asyncio.create_task(self._send(outlet, send))
        producing = asyncio.create_task(self._fill(outlet))
        ends = [_until_gone(receive), self._server.held.ended(self._client.digest), self._server.leaving.wait()]
        tasks: list[asyncio.Task[Any]] = [sending, producing, *(asyncio.create_task(_whole(each)) for each in ends)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if producing.done() and producing.exception() is None and not sending.done():
                # Nothing more is added: from here on only the reader's pace counts.
                await asyncio.wait([task for task in tasks if task is not producing], return_when="FIRST_COMPLETED")
            slow = any(task.done() and isinstance(task.exception(), SlowReaderError) for task in (sending, producing))
            if slow:
                scope.get(ABORT, _nothing)()
                # The connection learns of it in the next round of the loop.
                await asyncio.sleep(0)
                return
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for task in (sending, producing):
            if not task.cancelled() and (failure := task.exception()) and not isinstance(failure, SlowReaderError):
                raise failure
        with suppress(OSError):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _fill(self, outlet: Outlet) -> None:
        # The session was deleted, or the journal is unreachable: the reader connects again, and gets the error.
        with suppress(JournalError):
            await self._produce(outlet)
        outlet.end()

    async def _send(self, outlet: Outlet, send: Send) -> None:
        chunk: bytes | None = self._opening
        while chunk is not None:
            # If this waits too long, the connection is cut off.
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            chunk = await outlet.take(self._limits.heartbeat_seconds)


async def _whole(work: Coroutine[Any, Any, object]) -> None:
    await work


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


def _nothing() -> None:
    return
