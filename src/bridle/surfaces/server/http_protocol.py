"""HTTP/1.1 connections with deadlines for headers and bodies, a bound on their number, and a check of local peers."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from bridle.surfaces.server.limits import ABORT, KNOWN, ServerLimits

CREDENTIALS = struct.Struct("3i")

RefusesPeer = Callable[[int], bool]
"""Returns whether a process may not use the local socket."""


class DeadlineProtocol(H11Protocol):
    """A connection. A client that sends its headers or its body too slowly, or reads too slowly, is cut off.

    With too many connections, a new one replaces the oldest that serves no client with credentials. Clients without
    credentials therefore cannot keep others out. docs/decisions/0023-http-parser.md says why h11 reads the requests.
    """

    limits = ServerLimits()
    replaceable: dict[DeadlineProtocol, None]
    """The connections without a request of a known client, the oldest first."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.app = _WithConnection(self.app, self)
        self._phase = ""
        self._deadline: asyncio.TimerHandle | None = None
        self._write_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self.replaceable[self] = None
        if len(self.connections) > self.limits.connections:
            oldest = next(iter(self.replaceable))
            oldest.transport.abort()
            # It counts until the loop has closed it.
            self.connections.discard(oldest)
            del self.replaceable[oldest]
        if not transport.is_closing():
            self._enter("headers")

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except h11.LocalProtocolError:
            # Malformed data behind the beginning of an answer: there is no status left to answer with.
            self.transport.abort()
            return
        state = self.conn.their_state
        self._enter("headers" if state is h11.IDLE else "body" if state is h11.SEND_BODY else "")

    def connection_lost(self, exc: Exception | None) -> None:
        self._enter("")
        self._end_write_deadline()
        self.replaceable.pop(self, None)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        try:
            super().send_400_response(msg)
        finally:
            if self.cycle is not None:
                # The body was malformed, and the connection is closed: the application's own answer cannot be sent.
                self.cycle.disconnected = True
                self.cycle.message_event.set()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_deadline = self.loop.call_later(self.limits.send_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._end_write_deadline()
        super().resume_writing()

    def serves_client(self) -> None:
        """Note that the request is one of a known client."""
        self.replaceable.pop(self, None)

    def on_response_complete(self) -> None:
        self.replaceable[self] = None
        super().on_response_complete()

    def _end_write_deadline(self) -> None:
        if self._write_deadline is not None:
            self._write_deadline.cancel()
            self._write_deadline = None

    def _enter(self, phase: str) -> None:
        """Begin the deadline of a phase; more data of the same phase does not extend it."""
        if phase == self._phase:
            return
        self._phase = phase
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if phase:
            seconds = self.limits.header_seconds if phase == "headers" else self.limits.body_seconds
            self._deadline = self.loop.call_later(seconds, self.transport.abort)


class LocalProtocol(DeadlineProtocol):
    """A connection to the local socket, from a process of this user outside of tool calls."""

    refuses: RefusesPeer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        process, user = peer_of(connection)
        if user != os.getuid() or type(self).refuses(process):
            self.transport.abort()


class _WithConnection:
    """Gives the application two functions of its connection; see `ABORT` and `KNOWN`."""

    def __init__(self, app: ASGIApp, protocol: DeadlineProtocol) -> None:
        self._app = app
        self._protocol = protocol

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = {ABORT: self._protocol.transport.abort, KNOWN: self._protocol.serves_client}
        await self._app({**scope, **given}, receive, send)


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """Return the process and the user at the other end of a local socket; the process is 0 if it is not visible."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    process, user, _ = CREDENTIALS.unpack(raw)
    return process, user


def protocol(limits: ServerLimits) -> type[DeadlineProtocol]:
    """Return the class of connections with these limits."""
    return type("Bounded", (DeadlineProtocol,), {"limits": limits, "replaceable": {}})


def local_protocol(limits: ServerLimits, refuses: RefusesPeer) -> type[LocalProtocol]:
    """Return the class of local connections."""
    given = {"limits": limits, "replaceable": {}, "refuses": staticmethod(refuses)}
    return type("BoundedLocal", (LocalProtocol,), given)
