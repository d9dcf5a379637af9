"""The disks of a world: one in memory, one with real SQLite on files that fail, fill up and lose what is not synced."""

from __future__ import annotations

import asyncio
import atexit
import os
import random
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness import WiredJournal

from bridle import wire
from bridle.core.events import Entry, SessionInfo
from bridle.core.inbox import InboxItem
from bridle.core.ledger import Account
from bridle.errors import JournalError, JournalFailed, JournalFull
from bridle.journal import commits
from bridle.journal.journal import Journal, Lease
from bridle.journal.sqlite import SESSION_SPAN, SqliteJournal
from bridle.seams import Seams
from sim.plan import Plan

SECTOR = 512
_LARGEST = resource.getrlimit(resource.RLIMIT_FSIZE)
OFTEN = 4
"""Commits after which one is done apart and takes its time, so that those that come meanwhile are done together."""
SICKLY = 0.15
"""How many of the writes fail while nothing works."""
ROOT = Path(tempfile.mkdtemp(prefix="bridle-sim-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
atexit.register(shutil.rmtree, ROOT, ignore_errors=True)
# A lock is waited for in real time, and whoever holds it here only goes on afterwards.
commits.BUSY_MILLISECONDS = 0


@dataclass
class Kept:
    """What a disk holds of one session."""

    entries: list[Entry]
    inbox: list[InboxItem]
    epoch: int


class Disk:
    """Notes who wrote and what was published, and breaks where the plan says so; `open` once for each process."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.writes = 0
        self.stale: list[str] = []
        self.holders: dict[str, Watched] = {}
        """The process that was last given each session."""
        self.falls: list[str] = []
        self.over: list[str] = []
        self.published: list[tuple[str, int, Any]] = []
        self.written: list[tuple[str, int]] = []
        self.submitted: list[tuple[str, str]] = []
        """What people were told is safe."""
        self.promised: list[tuple[str, int]] = []
        """Intents and endings that were written: what follows from them may have happened already."""
        self.lost: list[tuple[str, Any]] = []
        """What of both was not there after a death."""
        self.home = ROOT / f"{plan.seed} {id(self)}"
        """A folder that outlives every process."""
        self._chance = random.Random(f"disk {plan.seed}")

    def open(self, seams: Seams) -> Journal:
        raise NotImplementedError

    def kept(self) -> dict[str, Kept]:
        raise NotImplementedError

    def accounts(self) -> dict[str, Account]:
        raise NotImplementedError

    @property
    def state(self) -> Any:
        """What a death would find, as far as it can be told without looking."""
        return self.writes, len(self.written), len(self.submitted)

    def appended(self, lease: Lease, writer: Watched) -> None:
        """An append of this process has returned."""

    def written_under(self, lease: Lease, latest: int) -> None:
        """Called as an entry is written, not later: somebody may take the session over while it is synced."""
        if lease.epoch != latest:
            self.stale.append(f"{lease.session} was written under lease {lease.epoch}")

    def names(self) -> list[str]:
        """The sessions that there are."""
        raise NotImplementedError

    def held(self) -> list[str]:
        """The sessions that a living process holds."""
        raise NotImplementedError

    def steal(self, session: str) -> None:
        """The lock is gone, and its holder does not know."""
        raise NotImplementedError

    def free(self, journal: Any, leases: dict[str, Lease]) -> None:
        """A process is dead: the machine frees what it had locked."""
        raise NotImplementedError

    def reboot(self) -> None:
        """All processes are dead, or the machine was."""

    def close(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)

    def copied(self, plan: Plan) -> Disk:
        """The same disk once more, for another life on it."""
        raise NotImplementedError

    async def write(self, journal: Any, work: Callable[[], Coroutine[Any, Any, Any]], *, ending: bool) -> Any:
        raise NotImplementedError

    def _ill(self) -> bool:
        return self.plan.health.sick and self._chance.random() < SICKLY

    def note(self, session: str, entry: Entry) -> None:
        self.published.append((session, entry.sequence, entry.events))

    def compare(self, before: dict[str, Account]) -> None:
        """Nothing that is spent may ever become less, and every reservation fits."""
        after = self.accounts()
        for id, old in before.items():
            new = after[id]
            if new.spent.tokens < old.spent.tokens or new.spent.cost < old.spent.cost - 1e-12:
                self.falls.append(f"{id} spent less")
            if new.spent.steps < old.spent.steps or new.total < old.total:
                self.falls.append(f"{id} counted back")
            if new.reserved.tokens > old.reserved.tokens:
                self._fits(new)
            if new.children and new.kept.tokens == 0:
                self.over.append(f"{id} keeps nothing for its closing request")

    def _fits(self, account: Account) -> None:
        """A reservation was taken: with it, what is spent and what others keep, every limit of the account holds."""
        for limits in (account.limits, account.tree):
            for name in ("tokens", "cost"):
                allowed = None if limits is None else limits.of(name)
                taken = sum(getattr(amount, name) for amount in (account.spent, account.reserved, account.keeps))
                if allowed is not None and taken > allowed + 1e-9:
                    self.over.append(f"{account.id} reserved {taken} {name} of {allowed}")


class Watched:
    """A process's journal, whose writes the disk takes note of."""

    def __init__(self, disk: Disk, inner: Any) -> None:
        self._disk = disk
        self._inner = inner

    async def append(self, lease: Lease, entry: Entry, **rest: Any) -> None:
        disk = self._disk
        held = list(rest.get("before", ()))
        changed = any(change is not None for change in (*(one.change for one in held), rest.get("change")))

        async def work() -> None:
            before = disk.accounts() if changed else {}
            await self._inner.append(lease, entry, **rest)
            disk.appended(lease, self)
            disk.written += [(lease.session, one.sequence) for one in (*(each.entry for each in held), entry)]
            if rest.get("weight") in ("intent", "ending"):
                disk.promised.append((lease.session, entry.sequence))
            if changed:
                disk.compare(before)

        await self._written(work, ending=rest.get("weight") == "ending")

    async def submit(self, session: str, item: InboxItem) -> bool:
        fresh = bool(await self._written(lambda: self._inner.submit(session, item)))
        self._disk.submitted.append((session, item.id))
        return fresh

    async def create(self, info: SessionInfo) -> None:
        await self._written(lambda: self._inner.create(info))

    async def acquire(self, session: str) -> Lease | None:
        found: Lease | None = None

        async def work() -> None:
            nonlocal found
            found = await self._inner.acquire(session)

        try:
            await self._written(work)
        except JournalFailed:
            # Whoever fails to take a lease does not keep it; SQLite's journal sees to that itself.
            if found is not None:
                await self._inner.release(found)
            raise
        if found is not None:
            self._disk.holders[session] = self
        return found

    async def _written(self, work: Callable[[], Coroutine[Any, Any, Any]], *, ending: bool = False) -> Any:
        # A disk takes its time, and others go on meanwhile.
        await asyncio.sleep(0)
        self._disk.writes += 1
        return await self._disk.write(self._inner, work, ending=ending)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class MemoryDisk(Disk):
    """One journal in memory for all processes, whose writes fail before or after they are done."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._journal = WiredJournal()

    def open(self, seams: Seams) -> Journal:
        return self._journal

    def copied(self, plan: Plan) -> MemoryDisk:
        other = MemoryDisk(plan)
        for name in ("writes", "stale", "falls", "over", "published", "written", "submitted", "promised", "lost"):
            setattr(other, name, copy(getattr(self, name)))
        other._chance.setstate(self._chance.getstate())
        for id, kept in self._journal._sessions.items():
            there = replace(kept, entries=list(kept.entries), inbox=dict(kept.inbox), posted=None)
            other._journal._sessions[id] = there
        other._journal._accounts.update(self._journal._accounts)
        return other

    def kept(self) -> dict[str, Kept]:
        return {
            id: Kept(kept.entries, [item for item in kept.inbox.values() if item is not None], kept.epoch)
            for id, kept in self._journal._sessions.items()
        }

    def accounts(self) -> dict[str, Account]:
        return dict(self._journal._accounts)

    def appended(self, lease: Lease, writer: Watched) -> None:
        # Nobody comes between here, so that whoever took the session last has written this.
        self.written_under(lease, self._journal._sessions[lease.session].epoch)
        if self.holders[lease.session] is not writer:
            self.stale.append(f"{lease.session} was written by whoever has lost it")

    def names(self) -> list[str]:
        return sorted(self._journal._sessions)

    def held(self) -> list[str]:
        return sorted(id for id, kept in self._journal._sessions.items() if kept.held)

    def steal(self, session: str) -> None:
        self._journal._sessions[session].held = False

    def free(self, journal: Any, leases: dict[str, Lease]) -> None:
        for session, lease in leases.items():
            kept = self._journal._sessions[session]
            if kept.epoch == lease.epoch:
                kept.held = False

    def reboot(self) -> None:
        for kept in self._journal._sessions.values():
            kept.held = False
            kept.posted = None

    async def write(self, journal: Any, work: Callable[[], Coroutine[Any, Any, Any]], *, ending: bool) -> Any:
        ill = self._chance.choice(["full", "before", "after"]) if self._ill() else ""
        if (self.writes == self.plan.full_at or ill == "full") and not ending:
            self.plan.seen["memory: full"] += 1
            raise JournalFull("the disk is full")
        failing = self.writes == self.plan.fail_at
        if (failing and self.plan.seed % 2) or ill == "before":
            self.plan.seen["memory: failed before it was written"] += 1
            raise JournalFailed("the disk is gone")
        result = await work()
        if failing or ill == "after":
            self.plan.seen["memory: failed after it was written"] += 1
            raise JournalFailed("the disk is gone, after it was written")
        return result


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
        commits.CHECKPOINT_COMMITS = OFTEN if self.plan.slow and not self.plan.power else 1_000
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

        journal._append = watched
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
        try:
            with suppress(sqlite3.OperationalError):
                # Another one may hold it already.
                other.execute("BEGIN IMMEDIATE")
            yield
        finally:
            other.close()

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


def make_disk(plan: Plan) -> Disk:
    return SqliteDisk(plan) if plan.disk == "sqlite" else MemoryDisk(plan)
