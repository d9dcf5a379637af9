"""`SilentProxy`: a TCP proxy before a PostgreSQL server that can fall silent without closing a connection."""

from __future__ import annotations

import asyncio

from psycopg.conninfo import conninfo_to_dict

from bridle.seams import begin


class SilentProxy:
    """Passes bytes both ways until `silent` is set: then nothing arrives any more, and nothing is refused.

    `cut` is the other way to be away: all connections are closed, and new ones are refused.
    """

    def __init__(self, url: str) -> None:
        self._given = given = conninfo_to_dict(url)
        self._host, self._port = str(given.get("host") or "127.0.0.1"), int(given.get("port") or 5432)
        self.silent = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None
        self.url = ""
        """The address of the server through this proxy."""

    async def __aenter__(self) -> SilentProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        password = f":{self._given['password']}" if self._given.get("password") else ""
        user = f"{self._given['user']}{password}@" if self._given.get("user") else ""
        self.url = f"postgresql://{user}127.0.0.1:{port}/{self._given.get('dbname') or ''}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()

    async def cut(self) -> None:
        """Close everything. May be called twice."""
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await (
            asyncio.open_unix_connection(f"{self._host}/.s.PGSQL.{self._port}")
            if self._host.startswith("/")
            else asyncio.open_connection(self._host, self._port)
        )
        self._writers += [writer, there[1]]
        for source, target in ((reader, there[1]), (there[0], writer)):
            task = begin(self._pass(source, target))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(1 << 16):
                if not self.silent.is_set():
                    target.write(data)
                    await target.drain()
        except ConnectionError:
            # One end has closed the connection; the other end hears of it below.
            pass
        finally:
            if not self.silent.is_set():
                target.close()
