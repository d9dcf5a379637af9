"""A disk with real SQLite on real files, which fail, fill up and lose what is not synced."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from bridle.core.events import Entry
from bridle.core.ledger import Account, AccountChange
from bridle.errors import JournalError, JournalFailed
from bridle.journal import commits
from bridle.journal.journal import Journal, Lease
from bridle.journal.sqlite import SESSION_SPAN, SqliteJournal
from bridle.seams import Seams
from bridle.wire import entries as wire
from sim.disks import Disk, Kept
from sim.plan import Plan

SECTOR = 512
_PATIENCE = commits.BUSY_MILLISECONDS
_CHECKPOINT = commits.CHECKPOINT_COMMITS
_LARGEST = resource.getrlimit(resource.RLIMIT_FSIZE)
NEVER = 1_000_000
OFTEN = 4
"""Commits after which one is done apart and takes its time, so that those that come meanwhile are done together."""


class SqliteDisk(Disk):
    """Real SQLite on real files. Its errors are its own: the file is made such that SQLite runs into them."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._lives = 0
        self._journals: list[SqliteJournal] = []
        self._synced = 0
        """So much of the log would survive a power loss."""
        self._safe = 0
        """So many of the written entries are in it."""
        self._peek: sqlite3.Connection | None = None
        self._failing_sync = False
        self._locked = 0
        self._under_way: list[ExitStack] = []
        """The troubles that have begun and not ended."""
        self._place.mkdir(parents=True)

    @property
    def _place(self) -> Path:
        return self.home / str(self._lives)

    @property
    def _path(self) -> Path:
        return self._place / "journal.db"

    @property
    def _log(self) -> Path:
        return self._place / "journal.db-wal"

    @property
    def state(self) -> Any:
        return *super().state, self._synced, self._log.stat().st_size if self._log.exists() else 0

    def open(self, seams: Seams) -> Journal:
        journal = SqliteJournal(self._path, seams=seams)
        flush = journal._sync._flush
        # A log that begins anew is not followed by what is said of it below, so only a machine that lives on has one.
        commits.CHECKPOINT_COMMITS = OFTEN if self.plan.slow and not self.plan.power else NEVER
        journal._sync._seconds = 1.0 if self.plan.slow else 0.0

        def noted() -> None:
            if self._failing_sync:
                raise JournalFailed(f"{self._path}: the disk does not take it")
            flush()
            self._synced, self._safe = self._log.stat().st_size, len(self.written)
            journal._sync._seconds = 1.0 if self.plan.slow else 0.0

        append = journal._append

        def watched(lease: Lease, entry: Entry) -> None:
            append(lease, entry)
            query = "SELECT epoch FROM session WHERE id = ?"
            (latest,) = journal._database.writer.execute(query, (lease.session,)).fetchone()
            self.written_under(lease, latest)

        post = journal._post

        def noted_post(change: AccountChange) -> None:
            post(change)
            self.posted(change, journal._account)

        journal._append = watched
        journal._post = noted_post
        journal._sync._flush = noted
        self._journals.append(journal)
        return journal

    def _query(self, query: str, *values: Any) -> list[Any]:
        if self._peek is None:
            self._peek = sqlite3.connect(self._path, isolation_level=None)
        return self._peek.execute(query, values).fetchall()

    def kept(self) -> dict[str, Kept]:
        found = {}
        for number, id, epoch in self._sessions():
            first = number * SESSION_SPAN
            rows = self._query(
                "SELECT key, at, elapsed, events FROM entry WHERE key BETWEEN ? AND ? ORDER BY key",
                first,
                first + SESSION_SPAN - 1,
            )
            items = self._query("SELECT item FROM inbox WHERE session = ? AND item IS NOT NULL ORDER BY number", number)
            entries = [Entry(key - first, at, elapsed, wire.decode_events(events)) for key, at, elapsed, events in rows]
            found[id] = Kept(entries, [wire.decode_item(item) for (item,) in items], epoch)
        return found

    def accounts(self) -> dict[str, Account]:
        return {id: wire.decode_account(body) for id, body in self._query("SELECT id, account FROM account")}

    def names(self) -> list[str]:
        return sorted(id for _, id, _ in self._sessions())

    def _sessions(self) -> list[Any]:
        if not self._query("SELECT 1 FROM sqlite_schema WHERE name = 'session'"):
            # The power failed before anything had reached the disk.
            return []
        return self._query("SELECT number, id, epoch FROM session WHERE length(info)")

    def held(self) -> list[str]:
        locked = {session for journal in self._journals for session in journal._locks}
        return sorted(session for session in locked if self._lock(session).exists())

    def _lock(self, session: str) -> Path:
        return self._place / "journal.db.locks" / f"{session}.lock"

    def steal(self, session: str) -> None:
        self._lock(session).unlink(missing_ok=True)

    def free(self, journal: Any, leases: dict[str, Lease]) -> None:
        for session in list(journal._locks):
            handle, _ = journal._locks.pop(session)
            os.close(handle)

    def reboot(self) -> None:
        """Go on with copies of the files as they are now: nobody closes a dead process's connections."""
        self._end_troubles()
        log = self._log.read_bytes() if self._log.exists() else b""
        base = self._path.read_bytes()
        if self.plan.power:
            lost = set(self.written[self._safe :])
            del self.written[self._safe :]
            self.published = [one for one in self.published if one[:2] not in lost]
            self.plan.seen["sqlite: power lost"] += 1
            torn = self._torn(log)
            self.plan.seen["sqlite: power lost, and something with it"] += torn != log
            log = torn
        self._shut()
        shutil.rmtree(self._place)
        self._lives += 1
        self._place.mkdir()
        self._path.write_bytes(base)
        if log:
            self._log.write_bytes(log)
        self._synced = len(log)
        numbers = {number: id for number, id, _ in self._sessions()}
        rows = self._query("SELECT session, id FROM inbox") if numbers else []
        there = {(numbers[number], id) for number, id in rows}
        self.lost += [item for item in self.submitted if item not in there]
        keys = self._query("SELECT key FROM entry") if numbers else []
        entries = {(numbers.get(key // SESSION_SPAN, ""), key % SESSION_SPAN) for (key,) in keys}
        self.lost += [entry for entry in self.promised if entry not in entries]

    def _torn(self, log: bytes) -> bytes:
        """Of what was not synced some sectors are there, and others never were written."""
        rest = log[self._synced :]
        rest = rest[: self._chance.randint(0, len(rest))]
        pieces = [rest[place : place + SECTOR] for place in range(0, len(rest), SECTOR)]
        share = self._chance.choice([0.0, 0.3])
        return log[: self._synced] + b"".join(
            bytes(len(piece)) if self._chance.random() < share else piece for piece in pieces
        )

    def _end_troubles(self) -> None:
        """A write that was under way at a death never returns: its trouble ends here, or it would outlive the world."""
        for stack in tuple(self._under_way):
            stack.close()

    def _shut(self) -> None:
        if self._peek is not None:
            self._peek.close()
            self._peek = None
        for journal in self._journals:
            self.free(journal, {})
            journal._sync.close()
            journal._database.close()
        self._journals.clear()

    def close(self) -> None:
        commits.CHECKPOINT_COMMITS = _CHECKPOINT
        self._end_troubles()
        self._shut()
        super().close()

    async def write(self, journal: Any, work: Callable[[], Coroutine[Any, Any, Any]], *, ending: bool) -> Any:
        trouble = self.plan.trouble
        kind = None
        if trouble is not None and trouble.at <= self.writes < trouble.at + trouble.writes:
            kind = trouble.kind
        elif self._ill():
            kind = self._chance.choice(list(SUFFERING))
        with ExitStack() as stack:
            if kind is not None:
                self._under_way.append(stack)
                stack.callback(self._under_way.remove, stack)
                stack.enter_context(SUFFERING[kind](self, journal))
            try:
                return await work()
            except JournalError as error:
                if kind is not None:
                    self.plan.seen[f"sqlite: {kind}: {type(error).__name__}"] += 1
                raise

    @contextmanager
    def full(self, journal: Any) -> Iterator[None]:
        """No page more, until the reserve is given back."""
        database = journal._database

        def freed() -> bool:
            more = type(database).free_reserve(database)
            if more:
                database.writer.execute("PRAGMA max_page_count = 1000000")
            return more

        database.writer.execute("PRAGMA max_page_count = 1")
        database.free_reserve = freed
        try:
            yield
        finally:
            vars(database).pop("free_reserve", None)
            database.writer.execute("PRAGMA max_page_count = 1000000")

    @contextmanager
    def io(self, journal: Any) -> Iterator[None]:
        """The log cannot grow, or only by a piece of what is written."""
        allowed = self._log.stat().st_size + self._chance.choice([0, 24, 700, 1_500])
        resource.setrlimit(resource.RLIMIT_FSIZE, (allowed, _LARGEST[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, _LARGEST)

    @contextmanager
    def readonly(self, journal: Any) -> Iterator[None]:
        journal._database.writer.execute("PRAGMA query_only = 1")
        try:
            yield
        finally:
            journal._database.writer.execute("PRAGMA query_only = 0")

    @contextmanager
    def busy(self, journal: Any) -> Iterator[None]:
        """Another program holds the write lock."""
        other = sqlite3.connect(self._path, isolation_level=None, timeout=0)
        # A lock is waited for in real time, and whoever holds it here only goes on afterwards.
        self._locked += 1
        self._waits(0)
        try:
            with suppress(sqlite3.OperationalError):
                # Another one may hold it already.
                other.execute("BEGIN IMMEDIATE")
            yield
        finally:
            self._locked -= 1
            self._waits(0 if self._locked else _PATIENCE)
            other.close()

    def _waits(self, milliseconds: int) -> None:
        """How long whoever writes waits for a lock, also those that have told SQLite already."""
        commits.BUSY_MILLISECONDS = milliseconds
        for journal in self._journals:
            journal._database.writer.execute("PRAGMA busy_timeout = 0")
            journal._commits._patient = False

    @contextmanager
    def sync(self, journal: Any) -> Iterator[None]:
        """It is written, but the disk does not confirm it."""
        self._failing_sync = True
        try:
            yield
        finally:
            self._failing_sync = False


SUFFERING = {
    "full": SqliteDisk.full,
    "io": SqliteDisk.io,
    "readonly": SqliteDisk.readonly,
    "busy": SqliteDisk.busy,
    "sync": SqliteDisk.sync,
}
