"""The way from processes to the model of a PostgreSQL server: connections that are slow, silent, cut or refused."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
from psycopg import Notify

from sim.server_loop import Process, ServerLoop
from sim.server_tables import Row, Tables

WAL_SECONDS = 0.6
"""What a commit that waits for no disk may lose: three times `wal_writer_delay`."""
NEAR_SECONDS = (0.0002, 0.0002, 0.0002, 0.001, 0.02)
"""What a message takes between two processes."""

LOCKING = ("append_v1", "sweep_v1", "wake_v1")
"""What locks several rows, so that two of them may wait for each other."""


@dataclass(frozen=True)
class Heard:
    """A query that the server has run."""

    query: str
    values: Any
    rows: list[Row]
    before: dict[str, tuple[int, bool, bytes]]
    """The accounts before it."""
    process: Process


@dataclass
class Answer:
    """What a connection said to a query."""

    rows: list[Row]
    description: tuple[()] = ()

    async def fetchall(self) -> list[Row]:
        return self.rows

    async def fetchone(self) -> Row | None:
        return self.rows[0] if self.rows else None


class ModelServer:
    """The tables, and everyone who is connected to them."""

    def __init__(self, seed: int, *, deaf: float, crashes: bool) -> None:
        self.tables = Tables()
        self.chance = random.Random(f"server {seed}")
        self.deaf = deaf
        """How many notifications get lost."""
        self.generation = 0
        """How often it was restarted."""
        self.conflicts = 0.0
        """How many of the transactions that lock several rows it asks for once more."""
        self.down_until = 0.0
        self.watch: Callable[[Heard], None] = lambda heard: None
        self._crashes = crashes
        self._unflushed: deque[tuple[float, Tables]] = deque()
        """What stood before each commit that no disk has yet."""
        self._connections: list[ModelConnection] = []
        self._pids = 0

    @property
    def loop(self) -> ServerLoop:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ServerLoop)
        return loop

    def deliver(self, process: Process, work: Callable[[], Any]) -> None:
        """Pass something on between the server and a process, in a while; nothing while the way is silent."""
        now = self.loop.time()
        wait = max(0.0, process.silent_until - now) + self.chance.choice(NEAR_SECONDS)
        self.loop.beside(wait, self._arrives, process, work)

    def _arrives(self, process: Process, work: Callable[[], Any]) -> None:
        if process.silent_until > self.loop.time():
            self.deliver(process, work)
        else:
            work()

    async def connect(self, process: Process) -> ModelConnection:
        self._pids += 1
        connection = ModelConnection(self, process, self._pids)
        await connection.ask(lambda tables: None)
        return connection

    def joins(self, connection: ModelConnection) -> None:
        self._connections.append(connection)

    def commit(self, work: Callable[[Tables], Any], sender: ModelConnection) -> Any:
        """One transaction."""
        tables, now = self.tables, self.loop.time()
        tables.now = now
        before = tables.copied() if self._crashes else tables
        tables.flushed, tables.told = True, []
        result = work(tables)
        self._keep(before, now, flushed=tables.flushed)
        for payload in tables.told:
            for connection in self._connections:
                if connection.listens and self.chance.random() >= self.deaf:
                    notify = Notify("bridle_changes", payload, sender.pid)
                    self.deliver(connection.process, partial(connection.notified.put_nowait, notify))
        return result

    def _keep(self, before: Tables, now: float, *, flushed: bool) -> None:
        if flushed:
            self._unflushed.clear()
        elif self._crashes:
            self._unflushed.append((now, before))
        while self._unflushed and self._unflushed[0][0] < now - WAL_SECONDS:
            self._unflushed.popleft()

    def crash(self, seconds: float) -> bool:
        """End at once, without a shutdown, and come back; return whether commits that no disk had are lost."""
        now = self.loop.time()
        self._keep(self.tables, now, flushed=False)
        kept = [tables for since, tables in self._unflushed if since >= now - WAL_SECONDS]
        lost = 0 if self.chance.random() < 0.7 else self.chance.randrange(len(kept))
        self.tables = kept[lost].copied()
        self._unflushed.clear()
        self.generation += 1
        self.down_until = now + seconds
        self.cut(lambda connection: True)
        return kept[lost] is not kept[-1]

    @property
    def has_unflushed(self) -> bool:
        return bool(self._unflushed)

    def cut(self, which: Callable[[ModelConnection], bool]) -> None:
        """End connections: each learns of it, and does not know what became of its last query."""
        for connection in [one for one in self._connections if which(one)]:
            self._connections.remove(connection)
            connection.breaks()


class ModelConnection:
    """See `psycopg.AsyncConnection`, as far as Bridle uses it."""

    def __init__(self, server: ModelServer, process: Process, pid: int) -> None:
        self._server = server
        self.process = process
        self.pid = pid
        self.listens = False
        self.closed = False
        self.notified: asyncio.Queue[Notify] = asyncio.Queue()
        self._broken: asyncio.Future[None] = server.loop.create_future()
        self._waiting: set[asyncio.Future[Any]] = set()
        self._inside = False
        server.joins(self)

    @property
    def info(self) -> ModelConnection:
        return self

    @property
    def backend_pid(self) -> int:
        return self.pid

    def breaks(self) -> None:
        self.closed = True
        if not self._broken.done():
            self._broken.set_result(None)
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(psycopg.OperationalError("the connection is lost"))

    async def ask(self, work: Callable[[Tables], Any]) -> Any:
        """Have the server do one transaction, and wait for what it says."""
        if self.closed:
            raise psycopg.OperationalError("the connection is closed")
        answer: asyncio.Future[Any] = self._server.loop.create_future()
        self._waiting.add(answer)
        self._server.deliver(self.process, partial(self._served, work, answer))
        try:
            return await answer
        finally:
            self._waiting.discard(answer)

    def _served(self, work: Callable[[Tables], Any], answer: asyncio.Future[Any]) -> None:
        server = self._server
        if server.down_until > server.loop.time():
            server.cut(lambda one: one is self)
            return
        if self.closed:
            return
        try:
            result = server.commit(work, self)
        except psycopg.Error as error:
            server.deliver(self.process, partial(_tell, answer, None, error))
        else:
            server.deliver(self.process, partial(_tell, answer, result, None))

    async def execute(self, query: bytes | str, values: Any = ()) -> Answer:
        text = query.decode() if isinstance(query, bytes) else query
        given = [*values.values()] if isinstance(values, dict) else values

        def work(tables: Tables) -> list[Row]:
            if text.startswith("LISTEN"):
                self.listens = True
                return []
            if text == "SELECT pg_backend_pid()":
                return [(self.pid,)]
            if any(name in text for name in LOCKING) and self._server.chance.random() < self._server.conflicts:
                raise psycopg.errors.DeadlockDetected("deadlock detected")
            before = dict(tables.accounts)
            rows = tables.run(text, given)
            self._server.watch(Heard(text, given, rows, before, self.process))
            return rows

        if self._inside and not self.closed:
            # In a transaction of several queries no other comes between them.
            return Answer(self._server.commit(work, self))
        return Answer(await self.ask(work))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        await self.ask(lambda tables: None)
        self._inside = True
        try:
            yield
        finally:
            self._inside = False
        await self.ask(lambda tables: None)

    async def notifies(self) -> AsyncIterator[Notify]:
        while True:
            come = asyncio.ensure_future(self.notified.get())
            try:
                await asyncio.wait([come, self._broken], return_when=asyncio.FIRST_COMPLETED)
                if not come.done():
                    raise psycopg.OperationalError("the connection is lost")
                yield come.result()
            finally:
                come.cancel()

    async def close(self) -> None:
        self._server.cut(lambda one: one is self)
        self.closed = True

    async def __aenter__(self) -> ModelConnection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _tell(answer: asyncio.Future[Any], result: Any, error: psycopg.Error | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(result)


class ModelPool:
    """See `psycopg_pool.AsyncConnectionPool`: connections for short queries, made anew where one is broken."""

    def __init__(self, server: ModelServer, process: Process, most: int) -> None:
        self._server = server
        self._process = process
        self._idle: list[ModelConnection] = []
        self._places = asyncio.Semaphore(most)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[ModelConnection]:
        async with self._places:
            self._idle = [one for one in self._idle if not one.closed]
            connection = self._idle.pop() if self._idle else await self._server.connect(self._process)
            try:
                yield connection
            except BaseException:
                # It may still be at work on a query that was given up.
                await connection.close()
                raise
            self._idle.append(connection)

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().close()
