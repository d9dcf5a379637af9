"""Runs a server in the foreground or detached; finds, reloads and stops the servers that run on this machine."""

from __future__ import annotations

import logging
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import NoReturn

import msgspec

from bridle.core.access import Right
from bridle.errors import ConfigError
from bridle.runtime import without_runtime
from bridle.runtime.server_process import ServerProcess, port_owner, socket_folder
from bridle.runtime.working_tree import WorkingTrees
from bridle.surfaces.cli.output import tell
from bridle.surfaces.cli.serve_orders import RELOAD, Orders
from bridle.surfaces.cli.transfer import made
from bridle.surfaces.server.access import Policy
from bridle.surfaces.server.application import HttpServer, create_app
from bridle.surfaces.server.directories import Directories
from bridle.surfaces.server.http_protocol import local_protocol, protocol
from bridle.surfaces.server.limits import BURST, Followers, ServerLimits
from bridle.surfaces.server.listen import (
    BoundAddress,
    HttpListeners,
    bind_local,
    bind_tcp,
    is_loopback,
    listener_of,
    passed_sockets,
    short_path,
)
from bridle.surfaces.server.native.api import NativeParts, native_routes
from bridle.surfaces.server.opencode.failures import on_unknown
from bridle.surfaces.server.opencode.hub import Hub
from bridle.surfaces.server.opencode.table import guarded_routes
from bridle.surfaces.server.page.files import page_routes
from bridle.wire.native_answers import Login, ServerState

LOG_BYTES = 5_000_000
OTHER_FILES = 1_000
"""Files that the process may need beside its connections."""
PATIENCE_SECONDS = 120.0
LOOK_SECONDS = 0.05
WILDCARDS = ("0.0.0.0", "::")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The arguments of `bridle serve`."""

    directories: tuple[Path, ...]
    host: str
    port: int
    hosts: frozenset[str]
    origins: frozenset[str]
    certificate: Path | None
    key: Path | None
    behind_proxy: bool
    grace: float

    @property
    def is_secure(self) -> bool:
        """Whether clients reach the server by TLS."""
        return self.certificate is not None or self.behind_proxy

    def check_address(self, host: str) -> None:
        """Raise `ConfigError` if tokens would cross a network in the clear."""
        if not is_loopback(host) and not self.is_secure:
            raise ConfigError(
                f"--host {host} is reached by other machines: give --tls-cert and --tls-key, put a proxy with TLS "
                "before it (--behind-proxy), or keep 127.0.0.1 and use `ssh -L 4096:localhost:4096`"
            )

    def check(self) -> None:
        """Raise `ConfigError` for options that do not fit."""
        self.check_address(self.host)
        for origin in self.origins:
            if not origin.startswith(("https://", "http://")) or origin.count("/") != 2:
                raise ConfigError(f"--cors-origin {origin}: write it as https://HOST or https://HOST:PORT")


async def serve_until_stopped(options: ServeOptions) -> Callable[[], NoReturn] | None:
    """Serve until SIGTERM or Ctrl-C. Open turns are left to the next start.

    After an order to reload, return that start. It reads the settings again, and keeps the sockets: no connection is
    refused meanwhile.
    """
    bound, given = _sockets(options)
    process = ServerProcess(options.directories)
    orders = Orders(process)
    server = _server(process, options)
    hub = Hub(server.directories, process.sandbox_warning)
    address = _address(bound, options)
    port = bound[0].getsockname()[1] if bound else 0
    path = socket_folder() / f"serve-{port}.sock"
    local = given[0] if given else bind_local(path)
    # One that a service manager has passed lies elsewhere, and is the manager's to remove.
    is_ours = listener_of(path) == os.getpid()
    kept = [each.dup() for each in (*bound, local)]
    _log_to(process.log)
    listening = HttpListeners(
        _listeners(server, process, hub, bound=bound, local=local, options=options, address=address),
        server.policy.limits,
        behind_proxy=options.behind_proxy,
    )
    try:
        await listening.start()
        tell(f"bridle serve: {address}" if bound else f"bridle serve: {path}")
        if process.sandbox_warning:
            tell(f"bridle serve: {process.sandbox_warning}")
        orders.notify("READY=1")
        await _resume(process)
        await orders.stopping.wait()
        orders.notify("RELOADING=1" if orders.reload else "STOPPING=1")
        tell(f"bridle serve: {'reloading' if orders.reload else 'stopping'}; open turns continue with the next start")
        server.is_leaving = True
        await process.leave(options.grace)
    finally:
        server.leaving.set()
        await hub.close()
        await listening.stop()
        await process.close()
    if orders.reload:
        return partial(orders.start_again, kept)
    if is_ours:
        path.unlink(missing_ok=True)
    for each in kept:
        each.close()
    tell("bridle serve: stopped")
    return None


def _sockets(options: ServeOptions) -> tuple[list[socket.socket], list[socket.socket]]:
    """Return the TCP and the local sockets that a service manager has passed, or else a new TCP socket alone."""
    passed = passed_sockets()
    bound = [each for each in passed if each.family != socket.AF_UNIX]
    if not passed:
        bound = [bind_tcp(options.host, options.port, _owner)]
    for each in bound:
        options.check_address(each.getsockname()[0])
    return bound, [each for each in passed if each.family == socket.AF_UNIX]


def _server(process: ServerProcess, options: ServeOptions) -> HttpServer:
    limits = limits_of(process)
    _allow_files(limits.connections)
    own = frozenset() if options.host in WILDCARDS else frozenset({options.host.lower()})
    policy = Policy(hosts=options.hosts | own, origins=options.origins, is_secure=options.is_secure, limits=limits)
    return HttpServer(
        directories=Directories(process.served, process.open, process.place),
        logins=process.logins,
        policy=policy,
        followers=Followers(limits.followers),
        is_sandboxed=process.is_sandboxed,
    )


def limits_of(process: ServerProcess) -> ServerLimits:
    """Return the bounds that the user's settings give to clients."""
    settings = process.settings
    return ServerLimits(
        body_bytes=int(settings.body_mb * 2**20),
        connections=settings.connections,
        followers=settings.streams,
        requests_per_second=settings.requests_per_second,
        burst=max(1, int(BURST * settings.requests_per_second)),
    )


def _allow_files(connections: int) -> None:
    """Let this process open a file for each connection, as far as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _listeners(
    server: HttpServer,
    process: ServerProcess,
    hub: Hub,
    *,
    bound: list[socket.socket],
    local: socket.socket,
    options: ServeOptions,
    address: str,
) -> list[BoundAddress]:
    # Imported here because it takes long, and most commands print no version.
    from bridle import __version__

    def state(right: Right) -> ServerState:
        return ServerState(
            version=__version__,
            process=os.getpid(),
            address=address,
            directories=tuple(map(str, process.served)),
            sessions=process.driven,
            followers=server.followers.number,
            right=right,
            sandbox=process.sandbox_warning,
        )

    parts = NativeParts(version=__version__, report=made, measured=process.measured, state=state)
    trees = WorkingTrees(process.open)
    routes = [*native_routes(server, parts), *page_routes(), *guarded_routes(hub, server, trees)]
    limits = server.policy.limits
    app, kind = create_app(server, routes, unknown=on_unknown), protocol(limits)
    policy = Policy(hosts=server.policy.hosts, is_local=True, limits=limits)
    own = create_app(server, routes, policy=policy, unknown=on_unknown)
    return [
        *(BoundAddress(each, app, kind, options.certificate, options.key) for each in bound),
        BoundAddress(local, own, local_protocol(limits, process.refuses_peer)),
    ]


def _address(bound: list[socket.socket], options: ServeOptions) -> str:
    if not bound:
        return ""
    host, port = bound[0].getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if options.certificate is not None else 'http'}://{name}:{port}"


async def _resume(process: ServerProcess) -> None:
    found = await process.resume()
    for session in found.resumed:
        tell(f"bridle serve: continues {session}")
    for session in found.others:
        tell(f"bridle serve: interrupted: {session}; continue it with: bridle resume {session}")


class PrivateLog(RotatingFileHandler):
    """A log that only this user may read, also after it was rotated."""

    def _open(self) -> TextIOWrapper:
        Path(self.baseFilename).touch(mode=0o600)
        return super()._open()


def _log_to(path: Path) -> None:
    """Write requests and warnings to a file for this user alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = PrivateLog(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("bridle", logging.WARNING), ("uvicorn", logging.WARNING), ("bridle.access", logging.INFO)):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        if name != "bridle.access":
            logger.addHandler(file)


def detach_server() -> None:
    """Start this command again in the background, and return once it serves; raises `ConfigError` if it does not."""
    words = [sys.executable, sys.argv[0], *(word for word in sys.argv[1:] if word != "--detach")]
    output = socket_folder() / "detached.out"
    output.touch(mode=0o600)
    with output.open("w") as out:
        child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, close_fds=True
        )
    for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
        found = running_servers()
        for path in found:
            if listener_of(path) == child.pid:
                one = f" --port {path.stem.removeprefix('serve-')}" if len(found) > 1 else ""
                tell(
                    f"bridle serve: {state_of(path).address}, process {child.pid}; stop it with: bridle serve stop{one}"
                )
                return
        with suppress(subprocess.TimeoutExpired):
            child.wait(LOOK_SECONDS)
            break
    said = output.read_text(errors="replace").strip().removeprefix("bridle: ")
    raise ConfigError(f"the server did not start: {said or output}")


def running_servers() -> list[Path]:
    """Return the local sockets of the servers that run. Those of dead ones stay: a new server may be taking one now."""
    return [path for path in sorted(socket_folder().glob("serve-*.sock")) if listener_of(path)]


def state_of(path: Path) -> ServerState:
    """Ask a server for its state through its local socket; raises `ConfigError` if it does not answer."""
    return msgspec.json.decode(_asked(path, "GET", "/bridle/server"), type=ServerState)


def new_login(path: Path) -> str:
    """Return a code with which a page logs in to a server once; raises `ConfigError` if it does not answer."""
    return msgspec.json.decode(_asked(path, "POST", "/bridle/logins"), type=Login).code


def _asked(path: Path, method: str, address: str) -> bytes:
    # Imported only to ask: a server needs no client.
    import httpx2

    try:
        with short_path(path) as short, httpx2.Client(transport=httpx2.HTTPTransport(uds=short)) as client:
            answer = client.request(method, f"http://localhost{address}", timeout=PATIENCE_SECONDS)
    except httpx2.HTTPError as error:
        raise ConfigError(f"{path}: the server does not answer: {error}") from error
    if not answer.is_success:
        raise ConfigError(f"{path}: the server answers {answer.status_code}: {answer.text}")
    return answer.content


def chosen_server(port: int) -> Path:
    """Return the local socket of the running server, or of the one with this port; raises `ConfigError`."""
    found = [path for path in running_servers() if not port or path.stem == f"serve-{port}"]
    if not found:
        raise ConfigError("no server runs" if not port else f"no server of yours runs on port {port}")
    if len(found) > 1:
        ports = ", ".join(path.stem.removeprefix("serve-") for path in found)
        raise ConfigError(f"several servers run: choose one with --port ({ports})")
    return found[0]


def reload_server(path: Path) -> int:
    """Tell a server to read its settings again; return its process, which stays the same.

    Raises `ConfigError` for invalid settings: the server would keep the old ones, and say so elsewhere.
    """
    process = listener_of(path)
    if not process:
        raise ConfigError("no server runs")
    for directory in state_of(path).directories:
        if found := without_runtime.config_faults(Path(directory)):
            raise ConfigError("\n".join(("the settings are not read again, because they are invalid:", *found)))
    os.kill(process, RELOAD)
    return process


def stop_server(path: Path) -> int:
    """Tell a server to stop, and return its process once it has; raises `ConfigError` if it goes on."""
    process = listener_of(path)
    if not process:
        raise ConfigError("no server runs")
    os.kill(process, signal.SIGTERM)
    # It may be replaced in the meantime: only this process counts.
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(process)
        try:
            if not _ends(handle):
                raise ConfigError(f"process {process} has not stopped yet: its work still runs")
        finally:
            os.close(handle)
    return process


def _ends(handle: int) -> bool:
    import select

    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(PATIENCE_SECONDS * 1000))


def _owner(port: int) -> str:
    """Return the program that has a port, by name if it is ours or known."""
    process = listener_of(socket_folder() / f"serve-{port}.sock")
    return f"another Bridle server (process {process})" if process else port_owner(port)
