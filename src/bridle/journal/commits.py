"""Group commit for `sqlite`: a transaction runs at once if the database is free; those that wait share a commit."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

from bridle.errors import JournalRefused
from bridle.journal.database import BUSY_MILLISECONDS, Database, error_code
from bridle.journal.sync import Sync
from bridle.seams import Offload, uninterrupted

CHECKPOINT_COMMITS = 100
"""Commits between checkpoints. A checkpoint restarts the log, because a growing log is slower to sync."""

Result = TypeVar("Result")


class _Job:
    """A waiting transaction; transactions that wait together are committed together."""

    __slots__ = ("error", "result", "turn", "work")

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work
        self.result: object = None
        self.error: Exception | None = None
        self.turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()


class Commits:
    """Runs transactions on a database, one after the other.

    A commit takes microseconds and runs in the caller's thread, since another thread costs more than that. Commits that
    meet a lock go through `Offload`, where all waiting ones are committed together. Syncs of a slow disk do so too.
    """

    def __init__(self, database: Database, offload: Offload, sync: Sync) -> None:
        self._database = database
        self._offload = offload
        self._sync = sync
        self._patient = True
        self._leading = False
        self._queue: deque[_Job] = deque()
        self._commits = 0

    async def write(self, work: Callable[[], Result], *, full: bool) -> Result:
        """Run the work in a transaction; with `full`, wait until it would survive a power loss."""
        if self._database.notice:
            raise JournalRefused(self._database.notice)
        if self._database.damaged:
            raise JournalRefused(f"{self._database.path}: the journal is damaged, and is not written to any more")
        self._commits += 1
        try:
            if self._leading or self._commits >= CHECKPOINT_COMMITS:
                result = await self._commit_in_turn(work)
            else:
                result = self._commit_here(work)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if error_code(error) != sqlite3.SQLITE_BUSY:
                raise self._database.told(error) from error
            result = await self._commit_in_turn(work)
        if full:
            await self._sync.reach_disk()
        return result

    def _commit_here(self, work: Callable[[], Result]) -> Result:
        """Commit immediately; SQLite reports busy if another process holds the write lock."""
        writer = self._database.writer
        self._begin(patient=False)
        try:
            result = work()
            self._database.execute("COMMIT")
        except BaseException:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            raise
        return result

    def _begin(self, *, patient: bool) -> None:
        if patient != self._patient:
            self._database.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS if patient else 0}")
            self._patient = patient
        self._database.execute("BEGIN IMMEDIATE")

    async def _commit_in_turn(self, work: Callable[[], Result]) -> Result:
        job = _Job(work)
        await uninterrupted(self._commit_apart(job))
        if job.error is not None:
            raise job.error
        return cast(Result, job.result)

    async def _commit_apart(self, job: _Job) -> None:
        if self._leading:
            self._queue.append(job)
            if not await job.turn:
                return
        self._leading = True
        batch = [job, *self._queue]
        self._queue.clear()
        try:
            await self._offload.run(lambda: self._commit_patiently(batch))
        finally:
            for other in batch[1:]:
                other.turn.set_result(False)
            self._leading = bool(self._queue)
            if self._queue:
                self._queue.popleft().turn.set_result(True)

    def _commit_patiently(self, batch: list[_Job]) -> None:
        writer = self._database.writer
        try:
            self._begin(patient=True)
            for job in batch:
                self._do(job)
            writer.execute("COMMIT")
        except sqlite3.Error as error:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            for job in batch:
                job.error = self._database.told(error)
            return
        if self._commits >= CHECKPOINT_COMMITS:
            self._commits = 0
            # A failed checkpoint loses nothing: commits stay in the log until the next one.
            with suppress(sqlite3.Error):
                writer.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _do(self, job: _Job) -> None:
        """Run one job of a group; an error rolls back this job alone."""
        writer = self._database.writer
        writer.execute("SAVEPOINT job")
        try:
            job.result = job.work()
        except sqlite3.Error:
            raise
        except Exception as error:
            # An error of one job goes to its caller; the others are committed all the same.
            job.error = error
            writer.execute("ROLLBACK TO job")
        writer.execute("RELEASE job")
