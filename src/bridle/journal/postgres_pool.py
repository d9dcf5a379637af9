"""`Pool`: the connections of a journal on PostgreSQL for short queries; it opens with the first of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg_pool import AsyncConnectionPool

from bridle.errors import JournalFailed
from bridle.journal.postgres_server import Connection, Server, answered, check

MOST_CONNECTIONS = 2
"""With two, a worker process takes eight at most, so that a server with its default of 100 carries ten workers."""
ANSWER_SECONDS = 60.0
"""Time for a query; then the connection counts as lost. A server that is gone without a trace refuses nothing."""

Found = TypeVar("Found")
Values = Sequence[Any] | Mapping[str, Any]


class Pool:
    """Runs queries on connections of its own. Methods raise `JournalError`."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._pool: AsyncConnectionPool[Connection] | None = None
        self._opening = asyncio.Lock()

    async def ready(self) -> None:
        """Ensure that the server was reached and the tables are prepared."""
        if self._pool is None:
            await self.rows("SELECT 1")

    async def _opened(self) -> AsyncConnectionPool[Connection]:
        """Return the open pool; the first use checks the server and prepares the tables."""
        async with self._opening:
            if self._pool is None:
                async with await self._server.connect() as first:
                    # The pool would hide why the server refuses a connection.
                    await self._server.prepare(first)
                pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
                    self._server.conninfo,
                    min_size=1,
                    max_size=MOST_CONNECTIONS,
                    open=False,
                    kwargs={"autocommit": True, "prepare_threshold": self._server.prepares},
                    check=check,
                )
                await pool.open()
                self._pool = pool
        return self._pool

    async def run(self, work: Callable[[Connection], Awaitable[Found]], seconds: float = ANSWER_SECONDS) -> Found:
        """Return what the work with a connection returns; raises `JournalFailed` if it takes longer than this."""

        async def with_connection() -> Found:
            pool = await self._opened()
            async with pool.connection() as connection:
                return await work(connection)

        try:
            return await answered(with_connection(), seconds)
        except TimeoutError as error:
            raise JournalFailed(f"{self._server.place}: the server does not answer") from error
        except psycopg.Error as error:
            raise self._server.explain(error) from error

    async def rows(self, query: str, values: Values = (), *, seconds: float = ANSWER_SECONDS) -> list[tuple[Any, ...]]:
        async def execute(connection: Connection) -> list[tuple[Any, ...]]:
            cursor = await connection.execute(self._server.text(query), values)
            return await cursor.fetchall() if cursor.description is not None else []

        return await self.run(execute, seconds)

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()
