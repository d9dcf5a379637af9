"""`ServerAddress`: the address of a server: an HTTP origin, or a local socket that only this user can open."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from bridle.errors import ConfigError
from bridle.runtime.server_process import socket_folder

SOCKET = "unix:"
PORTS = {"http": 80, "https": 443}
CREDENTIALS = struct.Struct("3i")


class ServerAddress(NamedTuple):
    """The origin of a server, and its local socket if that is used."""

    origin: str
    socket: Path | None = None

    @property
    def shown(self) -> str:
        """The address for people."""
        return f"{SOCKET}{self.socket}" if self.socket is not None else self.origin

    @property
    def is_here(self) -> bool:
        """Whether the server runs on this machine, as far as the address tells."""
        return self.socket is not None or _is_loopback(urlsplit(self.origin).hostname or "")


def address_of(url: str) -> ServerAddress:
    """Return the address of a server; raises `ConfigError` for one that is none, or that would show the token."""
    if url.startswith(SOCKET):
        return ServerAddress("http://localhost", Path(url.removeprefix(SOCKET)))
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ConfigError(f"{url!r} is not the address of a server: {error}") from error
    if parts.scheme not in PORTS or not host or parts.query or parts.fragment:
        raise ConfigError(f"{url!r} is not the address of a server: write it as https://HOST or http://localhost:4096")
    if parts.username or parts.password:
        raise ConfigError("a token in an address is seen by others: give it by BRIDLE_TOKEN or --token-file")
    if parts.scheme == "http" and not _is_loopback(host):
        raise ConfigError(
            f"http://{host} would send the token in the clear: use https://, or `ssh -L 4096:localhost:4096 {host}` "
            "and http://localhost:4096"
        )
    shown = f"[{host}]" if ":" in host else host
    at = f":{port}" if port is not None and port != PORTS[parts.scheme] else ""
    return ServerAddress(f"{parts.scheme}://{shown}{at}{parts.path.rstrip('/')}")


def local_address(address: ServerAddress, environment: Mapping[str, str] | None = None) -> ServerAddress | None:
    """Return the local socket of a server of this user at a loopback address; None if there is none."""
    if not address.is_here or address.socket is not None:
        return None
    parts = urlsplit(address.origin)
    path = socket_folder(environment) / f"serve-{parts.port or PORTS[parts.scheme]}.sock"
    return ServerAddress("http://localhost", path) if is_own(path) else None


def is_own(path: Path) -> bool:
    """Return whether a process of this user listens on a local socket that no other user can open."""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        found = path.lstat()
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            return False
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            client.connect(short_path(folder, path))
        finally:
            os.close(folder)
        return _user_of(client) == os.getuid()
    return False


def short_path(folder: int, path: Path) -> str:
    """Return a path to a socket in an open folder that is short enough for the kernel, which allows 107 bytes."""
    return f"/proc/self/fd/{folder}/{path.name}" if Path("/proc/self/fd").is_dir() else str(path)


def _user_of(client: socket.socket) -> int:
    """Return the user at the other end; where the system does not tell, the owner of the file counts."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return os.getuid()
    user: int = CREDENTIALS.unpack(client.getsockopt(socket.SOL_SOCKET, option, CREDENTIALS.size))[1]
    return user


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")
