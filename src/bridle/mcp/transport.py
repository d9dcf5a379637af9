"""Transports to MCP servers: a subprocess, sandboxed by `server_link`, or a URL; both limit incoming data."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import anyio
import httpx2
import mcp_types
from mcp.shared.message import SessionMessage

from bridle.process import protected_places
from bridle.process.containment import told
from bridle.process.lifelines import Lifelines
from bridle.process.output_stream import CHUNK, OutputStream

LOG = logging.getLogger(__name__)
Streams = tuple[Any, Any]
"""The streams from which a client reads messages and to which it writes them."""
MOST_LINE = 16 << 20
MOST_RESPONSE = 64 << 20
KEPT_COMPLAINTS = 4_000
COMPLAINT_PAUSE_SECONDS = 0.01
"""Pause between reads of stderr: a flood slows down the server, not Bridle."""
LAST_WORDS_SECONDS = 0.5
STREAM_WEIGHT = 200
"""Number of messages that opening a stream counts as."""
CONNECT_SECONDS = 30.0


class OutputWatch(Protocol):
    """Receiver of events about a server's behavior."""

    def came(self, weight: int = 1) -> bool:
        """Count a message, or an event of the given weight. Return True if the server sent too many."""

    def gone(self) -> None:
        """Record that the server has ended."""

    def refused(self, status: int) -> None:
        """Record an HTTP error status of the server."""


@dataclass(slots=True, kw_only=True)
class Started:
    """A server that runs as a subprocess; `complaints` is the end of its stderr."""

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    bounds: Mapping[str, int] = field(default_factory=dict)
    lifelines: Lifelines | None = None
    protected: protected_places.PlaceWatch | None = None
    complaints: str = ""
    _silent: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once its stderr has ended."""

    @asynccontextmanager
    async def opened(self, watch: OutputWatch) -> AsyncIterator[Streams]:
        """Start the command and yield the streams for a client; ends the command afterwards."""
        theirs, ours = os.pipe()
        try:
            piped = OutputStream(
                self.command,
                folder=self.folder,
                environment=self.environment,
                bounds=self.bounds,
                given=theirs,
                apart=True,
                watch=self.protected,
                lifelines=self.lifelines,
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        pipe = os.fdopen(ours, "wb", buffering=0)
        into, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, out_of = anyio.create_memory_object_stream[SessionMessage](0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen, piped, into, watch)
                tasks.start_soon(self._complaints, piped)
                tasks.start_soon(self._speak, pipe, out_of, into)
                try:
                    yield incoming, outgoing
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            for stream in (into, incoming, outgoing, out_of):
                stream.close()
            pipe.close()
            with anyio.CancelScope(shield=True):
                await piped.end()
            for line in told(piped.differences(), self.folder).splitlines():
                LOG.warning("mcp server %s: %s", self.command[-1], line)

    async def _listen(self, piped: OutputStream, into: Any, watch: OutputWatch) -> None:
        with into:
            async for line in _lines(piped.output):
                if watch.came():
                    return
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    # Some servers print other text to stdout; the next line may be a message.
                    continue
                try:
                    await into.send(SessionMessage(message))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return
            # The server ended or sent an overlong line; leave time to read the reason from stderr.
            with anyio.move_on_after(LAST_WORDS_SECONDS):
                await self._silent.wait()
            watch.gone()

    async def _complaints(self, piped: OutputStream) -> None:
        while chunk := await piped.errors.read(CHUNK):
            self.complaints = (self.complaints + chunk.decode("utf-8", errors="replace"))[-KEPT_COMPLAINTS:]
            await asyncio.sleep(COMPLAINT_PAUSE_SECONDS)
        self._silent.set()

    async def _speak(self, pipe: Any, out_of: Any, into: Any) -> None:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(lambda: asyncio.streams.FlowControlMixin(loop=loop), pipe)
        writer = asyncio.StreamWriter(transport, protocol, None, loop)
        try:
            async for sent in out_of:
                writer.write(sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, OSError):
            # The server no longer reads: closing tells waiters that it is gone.
            into.close()
        finally:
            transport.abort()


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield lines until one exceeds the maximum length of a message."""
    rest: list[bytes] = []
    size = 0
    while chunk := await reader.read(CHUNK):
        first, *others = chunk.split(b"\n")
        rest.append(first)
        size += len(first)
        for line in others:
            yield b"".join(rest)
            rest, size = [line], len(line)
        if size > MOST_LINE:
            return


@dataclass(slots=True)
class Remote:
    """A server at a URL."""

    url: str
    sse: bool
    headers: Mapping[str, str]
    auth: httpx2.Auth | None
    seconds: float

    @asynccontextmanager
    async def opened(self, watch: OutputWatch) -> AsyncIterator[Streams]:
        """Connect and yield the streams for a client."""

        async def look(response: httpx2.Response) -> None:
            if response.headers.get("content-encoding", "identity") != "identity":
                # A small compressed body may expand beyond all memory.
                raise httpx2.ReadError("the server compresses its responses, although it was asked not to")
            # JSON and SSE are UTF-8; some other encodings that a server may name take hours to decode.
            response.encoding = "utf-8"
            stream = response.stream
            assert isinstance(stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(stream)
            if response.is_error:
                watch.refused(response.status_code)
            elif response.request.method == "GET" and watch.came(STREAM_WEIGHT):
                raise httpx2.ReadError("the server keeps ending its streams")

        def client(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            given = {**(headers or {}), "accept-encoding": "identity"}
            return httpx2.AsyncClient(headers=given, timeout=timeout, auth=auth, event_hooks={"response": [look]})

        if self.sse:
            from mcp.client.sse import sse_client

            async with sse_client(self.url, dict(self.headers), auth=self.auth, httpx_client_factory=client) as streams:
                yield _Counted(streams[0], watch), streams[1]
            return
        from mcp.client.streamable_http import streamable_http_client

        timeout = httpx2.Timeout(CONNECT_SECONDS, read=self.seconds)
        async with (
            client(dict(self.headers), timeout, self.auth) as made,
            streamable_http_client(self.url, http_client=made) as streams,
        ):
            yield _Counted(streams[0], watch), streams[1]


class _Counted:
    """A stream whose messages are counted as they are read. Everything else is delegated to the stream itself."""

    def __init__(self, stream: Any, watch: OutputWatch) -> None:
        self._stream = stream
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> _Counted:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)

    def __aiter__(self) -> _Counted:
        return self

    async def __anext__(self) -> Any:
        if self._watch.came():
            raise StopAsyncIteration
        return await self._stream.__anext__()

    async def receive(self) -> Any:
        self._watch.came()
        return await self._stream.receive()


class _Bounded(httpx2.AsyncByteStream):
    """The body of one response, limited to `MOST_RESPONSE` bytes."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_RESPONSE
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise httpx2.ReadError(f"the server sent more than {MOST_RESPONSE} bytes in one response")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
