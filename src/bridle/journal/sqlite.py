"""A journal in one SQLite file, shared by all processes of a user."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import msgspec

from bridle import wire
from bridle.core.events import Entry, SessionInfo, SessionPut
from bridle.core.inbox import InboxItem
from bridle.core.ledger import Account, Change, Shortage, post
from bridle.errors import BudgetRefused, JournalFull, JournalRefused, LeaseLost, NoSuchSession
from bridle.journal.database import BUSY_MILLISECONDS, QUERIES, Database, error_code, explain
from bridle.journal.journal import Held, Lease, SessionRow, Weight, session_entry
from bridle.journal.lock import drop_lock, is_locked, take_lock
from bridle.journal.sync import Sync
from bridle.seams import Seams, uninterrupted

SESSION_SPAN = 1 << 32
POLL_SECONDS = 0.2
CHECKPOINT_COMMITS = 1_000

Result = TypeVar("Result")
Durability = Literal["power", "process"]


class _Job:
    """One transaction that waits for its turn; jobs that wait together are committed together."""

    __slots__ = ("error", "result", "turn", "work")

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work
        self.result: object = None
        self.error: Exception | None = None
        self.turn: asyncio.Future[bool] | None = None


class SqliteJournal:
    """See `Journal`. With durability "power" intents and endings survive a power loss, else the death of the process.

    A commit takes microseconds and runs where it stands, since a thread costs more than it does. Commits that meet a
    lock go through `Offload`, where all that wait are committed together; so does reaching a disk that is slow.
    """

    def __init__(self, path: Path, *, seams: Seams | None = None, durability: Durability = "power") -> None:
        self._database = Database(path)
        self._seams = seams or Seams()
        self._offload = self._seams.offload()
        self._power = durability == "power"
        self._sync = Sync(self._database.log, self._offload, self._seams.clock)
        self._patient = True
        self._leading = False
        self._queue: deque[_Job] = deque()
        self._commits = 0
        self._numbers: dict[str, int] = {}
        self._locks: dict[str, tuple[int, Path]] = {}
        self._sequences: dict[str, int] = {}
        self._epochs: dict[str, int] = {}
        self._lock_folder = path.with_name(path.name + ".locks")
        self._posted: dict[str, asyncio.Event] = {}
        self._looked: dict[str, int] = {}
        self._closed = False

    @property
    def notice(self) -> str:
        """What a person must know of the file; empty if all is well."""
        return self._database.notice

    async def _write(self, work: Callable[[], Result], *, full: bool) -> Result:
        """Do the work in a transaction; `full` also waits until it would survive a power loss."""
        if self._database.read_only:
            raise JournalRefused(self._database.notice)
        self._commits += 1
        try:
            if self._leading or self._commits >= CHECKPOINT_COMMITS:
                result = await self._commit_in_turn(work)
            else:
                result = self._commit_here(work)
        except sqlite3.Error as error:
            if error_code(error) != sqlite3.SQLITE_BUSY:
                raise explain(error, self._database.path) from error
            result = await self._commit_in_turn(work)
        if full:
            await self._sync.reach_disk()
        return result

    def _commit_here(self, work: Callable[[], Result]) -> Result:
        """Commit on the spot; SQLite says busy if another process holds the write lock at this moment."""
        writer = self._database.writer
        self._begin(patient=False)
        try:
            result = work()
            writer.execute("COMMIT")
        except BaseException:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
            raise
        return result

    def _begin(self, *, patient: bool) -> None:
        writer = self._database.writer
        if patient != self._patient:
            writer.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS if patient else 0}")
            self._patient = patient
        writer.execute("BEGIN IMMEDIATE")

    async def _commit_in_turn(self, work: Callable[[], Result]) -> Result:
        job = _Job(work)
        await uninterrupted(self._commit_apart(job))
        if job.error is not None:
            raise job.error
        return cast(Result, job.result)

    async def _commit_apart(self, job: _Job) -> None:
        if self._leading:
            job.turn = asyncio.get_running_loop().create_future()
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
                if other.turn is not None:
                    other.turn.set_result(False)
            follower = self._queue.popleft() if self._queue else None
            self._leading = follower is not None
            if follower is not None and follower.turn is not None:
                follower.turn.set_result(True)

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
                job.error = explain(error, self._database.path)
            return
        if self._commits >= CHECKPOINT_COMMITS:
            self._commits = 0
            # A checkpoint that fails has lost nothing: what is committed stays in the log until the next one.
            with suppress(sqlite3.Error):
                writer.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _do(self, job: _Job) -> None:
        """One job of several: what it raises undoes it alone."""
        writer = self._database.writer
        writer.execute("SAVEPOINT job")
        try:
            job.result = job.work()
        except sqlite3.Error:
            raise
        except Exception as error:
            # Whatever is wrong with one job is told to its caller, and the others are committed all the same.
            job.error = error
            writer.execute("ROLLBACK TO job")
        writer.execute("RELEASE job")

    def _number(self, session: str) -> int:
        number = self._numbers.get(session)
        if number is None:
            rows = self._read("session", (session,))
            if not rows:
                raise NoSuchSession(f"there is no session {session}")
            number = self._numbers[session] = rows[0][0]
        return number

    def _last(self, session: str) -> tuple[int, float]:
        """The sequence number of the last entry, and its time."""
        first = self._number(session) * SESSION_SPAN
        key, at = self._read("last_entry", (first, first + SESSION_SPAN - 1))[0]
        return key - first, at

    async def create(self, info: SessionInfo) -> None:
        entry = session_entry(info, (SessionPut(info),))
        body, events = wire.encode(info), wire.encode_events(entry)

        def work() -> None:
            writer = self._database.writer
            if writer.execute(QUERIES["create_session"], (info.id, body)).rowcount:
                (number, _) = writer.execute(QUERIES["session"], (info.id,)).fetchone()
                row = (number * SESSION_SPAN + 1, entry.at, entry.elapsed, events, number, 0)
                writer.execute(QUERIES["add_entry"], row)

        await self._write(work, full=False)

    async def append(
        self,
        lease: Lease,
        entry: Entry,
        *,
        change: Change | None = None,
        take: Sequence[str] = (),
        weight: Weight = "plain",
        before: Sequence[Held] = (),
    ) -> None:
        def work() -> None:
            self._check(lease, (before[0].entry if before else entry).sequence)
            self._post([held.change for held in before] + [change])
            for held in before:
                self._append(lease, held.entry)
            self._append(lease, entry)
            for id in take:
                self._database.writer.execute(QUERIES["take_item"], (self._numbers[lease.session], id))

        full = self._power and weight in ("intent", "ending")
        try:
            await self._write(work, full=full)
        except JournalFull:
            if weight != "ending" or not self._database.free_reserve():
                raise
            await self._write(work, full=full)
        self._sequences[lease.session] = entry.sequence

    def _check(self, lease: Lease, sequence: int) -> None:
        if lease.session not in self._locks or sequence != self._sequences[lease.session] + 1:
            raise LeaseLost(f"session {lease.session} has grown under the hands of another writer")

    def _append(self, lease: Lease, entry: Entry) -> None:
        writer = self._database.writer
        number = self._numbers[lease.session]
        row = (number * SESSION_SPAN + entry.sequence, entry.at, entry.elapsed, wire.encode_events(entry))
        if not writer.execute(QUERIES["add_entry"], (*row, number, lease.epoch)).rowcount:
            raise LeaseLost(f"session {lease.session} is written by another process now")
        for event in entry.events:
            if isinstance(event, SessionPut):
                writer.execute(QUERIES["put_info"], (wire.encode(event.info), lease.session))

    def _post(self, changes: Sequence[Change | None]) -> None:
        """Do these changes one after the other; each row is read and written once."""
        rows: dict[str, Account] = {}
        for change in changes:
            if change is not None:
                posted = post(change, lambda id: rows.get(id) or self._account(id))
                if isinstance(posted, Shortage):
                    raise BudgetRefused(posted)
                rows.update(posted)
        for id, account in rows.items():
            self._database.writer.execute(QUERIES["put_account"], (id, wire.encode(account)))

    def _account(self, id: str) -> Account | None:
        row = self._database.writer.execute(QUERIES["get_account"], (id,)).fetchone()
        return None if row is None else wire.decode_account(row[0])

    def _read(self, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            return self._database.reader.execute(QUERIES[query], values).fetchall()
        except sqlite3.Error as error:
            raise explain(error, self._database.path) from error

    async def load(self, session: str, after: int = 0) -> list[Entry]:
        first = self._number(session) * SESSION_SPAN
        rows = self._read("load_entries", (first + after + 1, first + SESSION_SPAN - 1))
        try:
            return [Entry(key - first, at, elapsed, wire.decode_events(events)) for key, at, elapsed, events in rows]
        except msgspec.DecodeError as error:
            raise JournalRefused(f"{self._database.path}: session {session} is damaged ({error})") from error

    async def submit(self, session: str, item: InboxItem) -> bool:
        row = (self._number(session), item.id, wire.encode(item))

        def work() -> bool:
            return bool(self._database.writer.execute(QUERIES["add_item"], row).rowcount)

        fresh = await self._write(work, full=self._power)
        event = self._posted.pop(session, None)
        if event is not None:
            event.set()
        return fresh

    async def inbox(self, session: str) -> list[InboxItem]:
        rows = self._read("open_items", (self._number(session),))
        try:
            return [wire.decode_item(row[0]) for row in rows]
        except msgspec.DecodeError as error:
            raise JournalRefused(f"{self._database.path}: the inbox of {session} is damaged ({error})") from error

    async def acquire(self, session: str) -> Lease | None:
        self._number(session)
        if session in self._locks:
            return None
        self._lock_folder.mkdir(mode=0o700, exist_ok=True)
        path = self._lock_folder / f"{session}.lock"
        handle = take_lock(path)
        if handle is None:
            return None
        self._locks[session] = (handle, path)

        def work() -> int:
            writer = self._database.writer
            (epoch,) = writer.execute(QUERIES["raise_epoch"], (session,)).fetchone()
            first = self._numbers[session] * SESSION_SPAN
            key, _ = writer.execute(QUERIES["last_entry"], (first, first + SESSION_SPAN - 1)).fetchone()
            self._sequences[session] = key - first
            return int(epoch)

        try:
            self._epochs[session] = epoch = await self._write(work, full=False)
            return Lease(session, epoch)
        except BaseException:
            drop_lock(*self._locks.pop(session))
            raise

    async def release(self, lease: Lease) -> None:
        if self._epochs.get(lease.session) == lease.epoch and lease.session in self._locks:
            drop_lock(*self._locks.pop(lease.session))

    async def held(self, session: str) -> bool:
        return session in self._locks or is_locked(self._lock_folder / f"{session}.lock")

    async def posted(self, session: str) -> None:
        event = self._posted.setdefault(session, asyncio.Event())
        while not event.is_set() and self._version() == self._looked.get(session):
            await _set_within(event, POLL_SECONDS)
        # What another process commits from here on shows as a new version at the next call.
        self._looked[session] = self._version()
        self._posted.pop(session, None)

    def _version(self) -> int:
        return int(self._read("data_version", ())[0][0])

    async def account(self, id: str) -> Account | None:
        rows = self._read("get_account", (id,))
        return wire.decode_account(rows[0][0]) if rows else None

    async def holding(self, prefix: str) -> list[Account]:
        # Rows are small and this is rare: it is asked only by who must wait for another's reservation.
        rows = self._read("held_accounts", (prefix, f"{prefix}\U0010ffff"))
        found = (wire.decode_account(row[0]) for row in rows)
        return [account for account in found if account.held]

    async def sessions(self) -> list[SessionRow]:
        found = []
        for number, body in self._read("list_sessions", ()):
            info = msgspec.json.decode(body, type=SessionInfo)
            self._numbers[info.id] = number
            found.append(SessionRow(info, *self._last(info.id)))
        return sorted(found, key=lambda row: row.updated, reverse=True)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._offload.close()
            self._sync.close()
            for held in self._locks.values():
                drop_lock(*held)
            self._locks.clear()
            self._database.close()


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
