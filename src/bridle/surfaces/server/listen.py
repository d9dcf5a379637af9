"""Binds the addresses of a server, and serves an application on them until it is told to stop."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from bridle.errors import ConfigError
from bridle.surfaces.server.http_protocol import DeadlineProtocol, peer_of
from bridle.surfaces.server.limits import ServerLimits

BACKLOG = 128
LOOK_SECONDS = 0.02
STOP_SECONDS = 5
FIRST_PASSED = 3
"""The first descriptor of sockets that a service manager passes."""


@dataclass(frozen=True, slots=True)
class BoundAddress:
    """A bound socket, and the application and protocol that serve it."""

    socket: socket.socket
    app: ASGIApp
    protocol: type[DeadlineProtocol]
    certificate: Path | None = None
    key: Path | None = None


class _Server(uvicorn.Server):
    """A uvicorn server that handles no signals, and does not poll while it is idle."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stopping = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        # uvicorn checks ten times a second whether it must stop.
        await self.stopping.wait()


class HttpListeners:
    """The listeners of one process."""

    def __init__(self, listeners: Sequence[BoundAddress], limits: ServerLimits, *, behind_proxy: bool) -> None:
        self._servers = [(_Server(_config(each, limits, behind_proxy=behind_proxy)), each.socket) for each in listeners]
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Accept connections from now on; raises `ConfigError` for an unusable certificate."""
        for server, bound in self._servers:
            task = asyncio.create_task(server.serve(sockets=[bound]))
            self._tasks.append(task)
            while not server.started:
                if task.done():
                    task.result()
                    raise ConfigError("the server could not start; its log has the details")
                await asyncio.sleep(LOOK_SECONDS)

    @property
    def open_connections(self) -> int:
        """The number of open connections."""
        return sum(len(server.server_state.connections) for server, _ in self._servers)

    async def stop(self) -> None:
        """Accept no more connections, and return once the open requests are answered or cut off."""
        for server, _ in self._servers:
            server.stopping.set()
        await asyncio.gather(*self._tasks)


def _config(listener: BoundAddress, limits: ServerLimits, *, behind_proxy: bool) -> uvicorn.Config:
    config = uvicorn.Config(
        listener.app,
        http=listener.protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=behind_proxy,
        timeout_keep_alive=int(limits.idle_seconds),
        timeout_graceful_shutdown=STOP_SECONDS,
        h11_max_incomplete_event_size=limits.header_bytes,
        ssl_certfile=listener.certificate,
        ssl_keyfile=listener.key,
    )
    try:
        config.load()
    except OSError as error:
        raise ConfigError(f"--tls-cert {listener.certificate}: the certificate cannot be used: {error}") from error
    return config


def is_loopback(host: str) -> bool:
    """Return whether a host to listen on is reached from this machine only."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def bind_tcp(host: str, port: int, owner: Callable[[int], str]) -> socket.socket:
    """Return a socket that is bound to an address; raises `ConfigError` that names the owner of a taken port."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ConfigError(f"--host {host}: there is no such address: {error.strerror}") from error
    family, kind, number, _, address = found[0]
    bound = socket.socket(family, kind, number)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            by = owner(port) or "another program"
            raise ConfigError(f"port {port} is taken by {by}: choose another one with --port") from error
        raise ConfigError(f"{host}:{port} cannot be used: {error.strerror}") from error
    return bound


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """Give a path to a socket that is short enough for the kernel, which allows 107 bytes."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}" if Path("/proc/self/fd").is_dir() else str(path)
    finally:
        os.close(folder)


def bind_local(path: Path) -> socket.socket:
    """Return a socket at a path, which only this user may open. A socket that a dead server has left there is replaced.

    Raises `ConfigError` if a live server has it.
    """
    if listener_of(path):
        raise ConfigError(f"{path}: another Bridle server has this port: choose another one with --port")
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        with short_path(path) as short:
            Path(short).unlink(missing_ok=True)
            bound.bind(short)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise ConfigError(f"{path}: the local socket cannot be made: {error.strerror}") from error
    finally:
        os.umask(before)
    return bound


def listener_of(path: Path) -> int:
    """Return the process of this user that listens on a local socket; 0 if there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            with short_path(path) as short:
                client.connect(short)
        except OSError:
            return 0
        process, user = peer_of(client)
        return process if user == os.getuid() else 0


def passed_sockets() -> list[socket.socket]:
    """Return the sockets that a service manager has opened for this process (systemd's socket activation)."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return []
    number = os.environ.get("LISTEN_FDS", "0")
    count = int(number) if number.isdecimal() else 0
    found = [socket.socket(fileno=handle) for handle in range(FIRST_PASSED, FIRST_PASSED + count)]
    for each in found:
        each.set_inheritable(False)
    # Commands that this process starts must not take them for their own.
    for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
        os.environ.pop(name, None)
    return found
