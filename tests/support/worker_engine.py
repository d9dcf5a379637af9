"""A second engine: worker processes that take wakes from a table in the SQLite file of the journal."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bridle.core.inbox import AbortItem
from bridle.engine.drive import DriveSetup, drive, submit
from bridle.errors import JournalError
from bridle.journal.journal import Wake
from bridle.seams import begin

LOOK_SECONDS = 0.01
TABLE = "CREATE TABLE IF NOT EXISTS wake (session TEXT PRIMARY KEY, held INTEGER, worker INTEGER, again INTEGER)"
ADD = """
INSERT INTO wake VALUES (?, ?, NULL, 0)
ON CONFLICT (session) DO UPDATE SET held = max(held, excluded.held), again = worker IS NOT NULL
"""
TAKE = "UPDATE wake SET worker = ? WHERE session = ? AND worker IS NULL RETURNING held"


class WorkerEngine:
    """See `Engine`. A process that calls `work` is a worker; all others only wake, wait and look."""

    def __init__(self, setup: DriveSetup, path: Path, wanted: Callable[[str], bool] = lambda session: True) -> None:
        self.closing = False
        self._setup = setup
        self._path = path
        self._wanted = wanted
        self._queue: sqlite3.Connection | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.failed: dict[str, JournalError] = {}

    def _connected(self) -> sqlite3.Connection:
        if self._queue is None:
            self._queue = sqlite3.connect(self._path, isolation_level=None, timeout=20)
            self._queue.execute(TABLE)
        return self._queue

    async def wake(self, session: str, *, held_prompts: bool = False) -> None:
        self._connected().execute(ADD, (session, held_prompts))

    def enqueue(self, session: str) -> Wake | None:
        self._connected()

        def add(connection: Any) -> None:
            connection.execute(ADD, (session, False))

        return add

    async def report(self, parent: str) -> None:
        await self.wake(parent)

    def drives(self, session: str) -> bool:
        return session in self._tasks

    async def parked(self, session: str) -> None:
        query = "SELECT worker FROM wake WHERE session = ?"
        while row := self._connected().execute(query, (session,)).fetchone():
            if row[0] is not None and not _lives(row[0]):
                self._forget(row[0])
            await asyncio.sleep(LOOK_SECONDS)
        if failure := self.failed.pop(session, None):
            raise failure

    async def close(self) -> None:
        self.closing = True
        for session in sorted(self._tasks):
            item = AbortItem(self._setup.seams.new_id("abt"), detail="the runtime was closed")
            await submit(session, item, self._setup.journal, self)
        while self._tasks:
            await asyncio.wait(self._tasks.values())
        if self._queue is not None:
            self._queue.close()
            self._queue = None

    async def work(self) -> None:
        """Drive what is woken, until this engine is closed."""
        # The journal makes its tables before the queue adds its own.
        try:
            await self._setup.journal.sessions()
        except JournalError:
            # The engine may be closed before its work begins.
            if not self.closing:
                raise
        while not self.closing:
            self.take()
            await asyncio.sleep(LOOK_SECONDS)

    def take(self) -> None:
        """Begin to drive all sessions that were woken and that this worker may take."""
        for session, worker in self._connected().execute("SELECT session, worker FROM wake").fetchall():
            if worker is not None and not _lives(worker):
                self._forget(worker)
            if worker is not None or session in self._tasks or not self._wanted(session):
                continue
            taken = self._connected().execute(TAKE, (os.getpid(), session)).fetchone()
            if taken is not None:
                self._tasks[session] = begin(self._drive(session, held=bool(taken[0])))

    def _forget(self, worker: int) -> None:
        """Give the wakes of a worker that died to the others."""
        self._connected().execute("UPDATE wake SET worker = NULL WHERE worker = ?", (worker,))

    async def _drive(self, session: str, *, held: bool) -> None:
        try:
            await drive(session, self._setup, self, held_prompts=held)
        except JournalError as error:
            self.failed[session] = error
        finally:
            del self._tasks[session]
            mine = (session, os.getpid())
            # A wake that came meanwhile stays, for any worker.
            self._connected().execute("DELETE FROM wake WHERE session = ? AND worker = ? AND again = 0", mine)
            self._connected().execute("UPDATE wake SET worker = NULL, again = 0 WHERE session = ? AND worker = ?", mine)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return not _is_zombie(process)


def _is_zombie(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
