"""The way out for a command in the sandbox that may reach some hosts and no others: a proxy that asks for each."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from bridle.core.addresses import is_public

THRESHOLD = Path(__file__).with_name("threshold.py")
ADDRESS = "http://127.0.0.1:3128"
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
HEAD_SECONDS, CONNECT_SECONDS = 10.0, 20.0
MOST_HEAD = 65_536
MOST_CONNECTIONS = 128
MOST_REFUSED = 20
CHUNK = 65_536


class Doorway:
    """For one command. `close` must be called, and may be called twice."""

    def __init__(
        self, allows: Callable[[str], bool], allows_private: Callable[[str], bool], environment: Mapping[str, str]
    ) -> None:
        """`allows` says whether a host may be reached; the environment names a proxy that stands before the network."""
        self._allows = allows
        self._allows_private = allows_private
        self._before = _upstream(environment)
        self.refused: dict[str, None] = {}
        """Hosts that the command wanted and may not reach."""
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._theirs = theirs.detach()
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._opening = asyncio.ensure_future(self._open())

    def inside(self, command: Sequence[str]) -> list[str]:
        """The words that open the doorway from within and then run a command."""
        return [sys.executable, "-I", "-S", str(THRESHOLD), str(self._theirs), "--", *command]

    @property
    def passes(self) -> tuple[int, ...]:
        """The handles that the command needs."""
        return (self._theirs,)

    def started(self) -> None:
        """The command has its handle; ours of it is not needed any more."""
        if self._theirs >= 0:
            os.close(self._theirs)
            self._theirs = -1

    @staticmethod
    def environment(environment: Mapping[str, str]) -> dict[str, str]:
        """What a command has to know to go through it."""
        kept = {name: value for name, value in environment.items() if name.lower() != "no_proxy"}
        return {**kept, **dict.fromkeys(VARIABLES, ADDRESS)}

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        there = asyncio.Event()
        loop.add_reader(self._ours, there.set)
        try:
            await there.wait()
        finally:
            if self._ours.fileno() >= 0:
                loop.remove_reader(self._ours)
        _, handles, _, _ = socket.recv_fds(self._ours, 1, 1)
        if handles:
            listener = socket.socket(fileno=handles[0])
            self._server = await asyncio.start_server(self._come, sock=listener, limit=MOST_HEAD)
            self._ours.send(b"!")

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            if len(self._serving) <= MOST_CONNECTIONS:
                await self._serve(reader, writer)
        except (OSError, EOFError, TimeoutError, ValueError, asyncio.LimitOverrunError):
            # One connection of somebody else's program: it ends, and that is all.
            return
        finally:
            self._serving.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        first, _, rest = head.partition(b"\r\n")
        method, target, _ = first.decode("latin-1").split(" ", 2)
        asked = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = (asked.hostname or "").rstrip("."), asked.port or 80
        if not host or not self._allows(host):
            if host and len(self.refused) < MOST_REFUSED:
                self.refused[host] = None
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return
        async with asyncio.timeout(CONNECT_SECONDS):
            theirs, ours = await self._reach(host, port)
        try:
            if self._before is not None and method == "CONNECT":
                ours.write(head)
            elif method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = target if self._before is not None else asked._replace(scheme="", netloc="").geturl() or "/"
                ours.write(f"{method} {path} HTTP/1.1\r\nConnection: close\r\n".encode("latin-1") + _closing(rest))
            await _joined((reader, ours), (theirs, writer))
        finally:
            ours.close()

    async def _reach(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._before is not None:
            return await asyncio.open_connection(*self._before)
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        numbers = [str(entry[4][0]) for entry in found]
        if not numbers or not (all(map(is_public, numbers)) or self._allows_private(host)):
            # A name of the public internet that leads into somebody's own network.
            raise OSError(f"{host} is not on the public internet")
        return await asyncio.open_connection(numbers[0], port)

    def drop(self) -> None:
        """Close it where nobody can wait."""
        self._opening.cancel()
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        self._ours.close()
        self.started()

    async def close(self) -> None:
        self.drop()
        await asyncio.wait([self._opening, *self._serving])


def _closing(head: bytes) -> bytes:
    """Headers without those that speak of the connection to us."""
    lines = head.split(b"\r\n")
    gone = (b"connection:", b"proxy-connection:", b"proxy-authorization:", b"keep-alive:")
    return b"\r\n".join(line for line in lines if not line.lower().startswith(gone))


async def _joined(*ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    """Pass on what comes, both ways, until one side has no more to say and the other has ended too."""
    passing = [asyncio.ensure_future(_passed(reader, writer)) for reader, writer in ways]
    try:
        await asyncio.gather(*passing)
    finally:
        for task in passing:
            task.cancel()


async def _passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(CHUNK):
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


def _upstream(environment: Mapping[str, str]) -> tuple[str, int] | None:
    """The proxy that Bridle itself has to use, if it is a plain one."""
    given = environment.get("https_proxy") or environment.get("HTTPS_PROXY") or ""
    parts = urlsplit(given)
    return (parts.hostname, parts.port or 80) if parts.scheme == "http" and parts.hostname else None
