"""`EgressProxy`: an HTTP proxy outside the sandbox that lets one command reach allowed hosts only; decrypts no TLS."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bridle.seams import begin
from bridle.values.addresses import is_private_name, is_public

EGRESS_SHIM = Path(__file__).with_name("egress_shim.py")
ADDRESS = "http://127.0.0.1:3128"
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
HEAD_SECONDS, CONNECT_SECONDS = 10.0, 20.0
MOST_HEAD = 65_536
MOST_CONNECTIONS = 128
MOST_REFUSED = 20
CHUNK = 65_536
USUAL_PORTS = (80, 443)
LINE = re.compile(r"([A-Z]+) ([!-~]+) HTTP/1\.[01]")
HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*")
"""One header: a token as its name, and no control characters except tab. Folded lines are not accepted."""
PLACE = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
BETWEEN = frozenset({b"host", b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"upgrade"})
"""Headers about the connection to this proxy."""
REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class EgressProxy:
    """The egress proxy of one command. `close` must be called, and may be called twice."""

    def __init__(
        self, allows: Callable[[str], bool], allows_private: Callable[[str], bool], environment: Mapping[str, str]
    ) -> None:
        """`allows` decides whether a host may be reached; the environment may name an upstream proxy to use."""
        self._allows = allows
        self._allows_private = allows_private
        self._before, self._credentials = _upstream(environment)
        self.refused: dict[str, None] = {}
        """Hosts that the command requested and may not reach."""
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        self.handle = theirs.detach()
        """The handle that the command needs."""
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._opening = begin(self._open())

    def inside(self, command: Sequence[str]) -> list[str]:
        """Return the words that open the proxy's port inside the sandbox and then run a command."""
        return [sys.executable, "-I", "-S", str(EGRESS_SHIM), str(self.handle), "--", *command]

    def started(self) -> None:
        """Close our copy of the command's handle once the command has started."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    @staticmethod
    def environment(environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment with the variables that point a command to the proxy."""
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
        except (OSError, EOFError, TimeoutError, ValueError, asyncio.LimitOverrunError, asyncio.CancelledError):
            # A failure ends only this connection of the command.
            return
        finally:
            self._serving.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        asked = Asked.read(head)
        if not self._may_reach(asked):
            if len(self.refused) < MOST_REFUSED:
                self.refused[asked.host if asked.usual else f"{asked.host}:{asked.port}"] = None
            writer.write(REFUSED)
            await writer.drain()
            return
        async with asyncio.timeout(CONNECT_SECONDS):
            theirs, ours = await self._reach(asked)
        try:
            if asked.tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _joined((reader, ours), (theirs, writer))
                return
            ours.write(asked.request(by_proxy=self._before is not None, credentials=self._credentials))
            # Only one request and its body: the next one may be for another host.
            await _copied(reader, ours, asked.length)
            await _passed(theirs, writer)
        finally:
            ours.close()

    def _may_reach(self, asked: Asked) -> bool:
        """Return whether the host is allowed at the usual ports, or at this port by name."""
        named = self._allows(f"{asked.host}:{asked.port}")
        return bool(asked.host) and (named or (asked.usual and self._allows(asked.host)))

    async def _reach(self, asked: Asked) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        private = self._allows_private(asked.host)
        if self._before is None:
            found = await asyncio.get_running_loop().getaddrinfo(asked.host, asked.port, type=socket.SOCK_STREAM)
            numbers = [str(entry[4][0]) for entry in found]
            if not numbers or not (private or all(map(is_public, numbers))):
                # A public name that resolves to a private network.
                raise OSError(f"{asked.host} is not on the public internet")
            return await asyncio.open_connection(numbers[0], asked.port)
        if not private and is_private_name(asked.host):
            raise OSError(f"{asked.host} is not on the public internet")
        theirs, ours = await asyncio.open_connection(*self._before)
        if asked.tunnel:
            place = f"{asked.host}:{asked.port}"
            try:
                ours.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{self._credentials}\r\n".encode("latin-1"))
                if not re.match(rb"HTTP/1\.\d 2\d\d", await theirs.readuntil(b"\r\n\r\n")):
                    raise OSError("the proxy refuses")
            except BaseException:
                ours.close()
                raise
        return theirs, ours

    def drop(self) -> None:
        """Close the proxy without awaiting anything."""
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
        # The event loop releases closed connections in its next iterations.
        for _ in range(2):
            await asyncio.sleep(0)


@dataclass(slots=True, frozen=True)
class Asked:
    """A parsed request from a client of the proxy; only the parsed parts are ever passed on."""

    method: str
    host: str
    port: int
    path: str
    headers: tuple[bytes, ...]
    length: int

    @property
    def tunnel(self) -> bool:
        return self.method == "CONNECT"

    @property
    def usual(self) -> bool:
        return self.port in USUAL_PORTS

    @classmethod
    def read(cls, head: bytes) -> Asked:
        """Parse the head of a request; raises `ValueError` for anything unusual."""
        first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        found = LINE.fullmatch(first.decode("ascii"))
        if found is None or not all(map(HEADER.fullmatch, lines)):
            # A server that parses this head differently would receive a request that was never judged.
            raise ValueError("no request")
        method, target = found[1], found[2]
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        if parts.username is not None or parts.password is not None or "@" in parts.netloc:
            raise ValueError("an address with a name in it")
        if method != "CONNECT" and parts.scheme != "http":
            raise ValueError("no address of the web")
        if method == "CONNECT" and (parts.path or parts.query or parts.fragment):
            raise ValueError("a tunnel to a page")
        named = [(line.partition(b":")[0].lower(), line) for line in lines]
        sizes = [line.partition(b":")[2].strip(b" \t") for name, line in named if name == b"content-length"]
        if len(sizes) > 1 or any(name == b"transfer-encoding" for name, _ in named):
            raise ValueError("a body without a length")
        if not all(re.fullmatch(rb"[0-9]{1,18}", size) for size in sizes):
            raise ValueError("a length that is no number")
        kept = tuple(line for name, line in named if name not in BETWEEN)
        port = parts.port or (443 if method == "CONNECT" else 80)
        host = (parts.hostname or "").rstrip(".")
        if not PLACE.fullmatch(host):
            raise ValueError("no name of a host")
        path = parts._replace(scheme="", netloc="").geturl() or "/"
        return cls(method, host, port, path, headers=kept, length=int(sizes[0]) if sizes else 0)

    def request(self, *, by_proxy: bool, credentials: str) -> bytes:
        """Return the one request that is passed on, rebuilt from its parsed parts."""
        place = self.host if self.port == 80 else f"{self.host}:{self.port}"
        where = f"http://{place}{self.path}" if by_proxy else self.path
        more = credentials if by_proxy else ""
        first = f"{self.method} {where} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n{more}".encode("latin-1")
        return first + b"".join(line + b"\r\n" for line in self.headers) + b"\r\n"


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: float = inf) -> None:
    """Relay at most this number of bytes."""
    while most > 0 and (chunk := await reader.read(int(min(CHUNK, most)))):
        most -= len(chunk)
        writer.write(chunk)
        await writer.drain()


async def _joined(*ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    """Relay data in both directions until both sides have ended."""
    passing = [begin(_passed(reader, writer)) for reader, writer in ways]
    try:
        await asyncio.gather(*passing)
    finally:
        for task in passing:
            task.cancel()


async def _passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Relay everything, and then the end."""
    await _copied(reader, writer)
    if writer.can_write_eof():
        writer.write_eof()


def _upstream(environment: Mapping[str, str]) -> tuple[tuple[str, int] | None, str]:
    """Return the proxy that Bridle itself must use, if it is a plain HTTP one, and the header with its login."""
    names = ("https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY")
    given = next((environment[name] for name in names if environment.get(name)), "")
    try:
        parts = urlsplit(given)
        port = parts.port or 80
    except ValueError:
        return None, ""
    if parts.scheme != "http" or not parts.hostname:
        return None, ""
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    header = f"Proxy-Authorization: Basic {b64encode(login.encode()).decode()}\r\n" if login else ""
    return (parts.hostname, port), header
