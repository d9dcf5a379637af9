"""`SqliteJournal`: sessions, inboxes, leases and ledger in one SQLite file, shared by all processes of a user."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from bridle.core.budget import Budget, BudgetChange
from bridle.core.events import Entry, SessionInfo, SessionPut
from bridle.core.ids import account_range, is_account_in, period_range
from bridle.core.inbox import InboxItem
from bridle.core.ledger import Account, AccountChange, post
from bridle.errors import JournalFailed, JournalFull, JournalRefused, LeaseLost, NoSuchSession
from bridle.journal.commits import Commits
from bridle.journal.database import QUERIES, Database
from bridle.journal.journal import Lease, SessionQuery, SessionRow, Wake, Weight, page, session_entry
from bridle.journal.lock import drop_lock, is_locked, lock_folder, take_lock
from bridle.journal.sync import Sync
from bridle.seams import Seams
from bridle.wire import entries as wire

SESSION_SPAN = 1 << 32
POLL_SECONDS = 0.2
MOST_ROWS = 1_000

Durability = Literal["power", "process"]

blob = bytearray
"""Bytes for a column: for plain `bytes` Python looks for an adapter each time, which is slow."""


class SqliteJournal:
    """A journal in SQLite. With durability "power" intents and endings survive a power loss, else a dead process."""

    def __init__(self, path: Path, *, seams: Seams | None = None, durability: Durability = "power") -> None:
        self._path = path
        self._seams = seams or Seams()
        self._offload = self._seams.offload()
        self._power = durability == "power"
        self._numbers: dict[str, int] = {}
        self._locks: dict[str, tuple[int, Path]] = {}
        self._sequences: dict[str, int] = {}
        self._epochs: dict[str, int] = {}
        self._lock_folder = lock_folder(path)
        self._posted: dict[str, asyncio.Event] = {}
        self._looked: dict[str, int] = {}
        self._ticks = 0
        self._changes: dict[str, int] = {}
        """When this process last changed each session, as a running count of its changes."""
        self._watchers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        """Events of the waiters for an ending."""
        self._followers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        """Events of the waiters for any change."""
        self._rows: dict[str, tuple[bytes, Account]] = {}
        """Accounts as last written: a row with the same bytes need not be decoded."""
        self._closed = False

    @cached_property
    def _database(self) -> Database:
        return Database(self._path)

    @cached_property
    def _sync(self) -> Sync:
        return Sync(self._database.log, self._offload, self._seams.clock)

    @cached_property
    def _commits(self) -> Commits:
        return Commits(self._database, self._offload, self._sync)

    @property
    def notice(self) -> str:
        """A warning about the file for people; empty if all is well."""
        return self._database.notice

    def _number(self, session: str) -> int:
        number = self._numbers.get(session)
        if number is None:
            rows = self._read("session", (session,))
            if not rows:
                raise NoSuchSession(f"there is no session {session}")
            number = self._numbers[session] = rows[0][0]
        return number

    def _keys(self, session: str) -> tuple[int, int]:
        """Return the lower bound and the last of the keys that entries of a session may have."""
        first = self._number(session) * SESSION_SPAN
        return first, first + SESSION_SPAN - 1

    async def create(self, info: SessionInfo) -> None:
        entry = session_entry(info)
        body, events = wire.encode(info), wire.encode_events(entry)

        def work() -> None:
            writer = self._database.writer
            if writer.execute(QUERIES["create_session"], (info.id, body)).rowcount:
                (number, _) = writer.execute(QUERIES["session"], (info.id,)).fetchone()
                row = (number * SESSION_SPAN + 1, entry.at, entry.elapsed, events, number, 0)
                writer.execute(QUERIES["add_entry"], row)

        await self._commits.write(work, full=False)

    async def append(
        self,
        lease: Lease,
        entry: Entry,
        *,
        change: AccountChange | None = None,
        take: Sequence[str] = (),
        weight: Weight = "plain",
        before: Sequence[Entry] = (),
    ) -> None:
        def work() -> None:
            self._check(lease, (before[0] if before else entry).sequence)
            if change is not None:
                self._post(change)
            for one in (*before, entry):
                self._append(lease, one)
            for id in take:
                self._database.writer.execute(QUERIES["take_item"], (self._numbers[lease.session], id))

        full = self._power and weight in ("intent", "ending")
        try:
            await self._commits.write(work, full=full)
        except JournalFull:
            if weight != "ending" or not self._database.free_reserve():
                raise
            await self._commits.write(work, full=full)
        self._sequences[lease.session] = entry.sequence
        if weight == "ending" or lease.session in self._followers:
            self._change(lease.session, rests=weight == "ending")

    def _check(self, lease: Lease, sequence: int) -> None:
        if lease.session not in self._locks or sequence != self._sequences[lease.session] + 1:
            raise LeaseLost(f"session {lease.session} has new entries of another process")

    def _append(self, lease: Lease, entry: Entry) -> None:
        execute, number = self._database.execute, self._numbers[lease.session]
        row = (number * SESSION_SPAN + entry.sequence, entry.at, entry.elapsed, blob(wire.encode_events(entry)))
        if not execute(QUERIES["add_entry"], (*row, number, lease.epoch)).rowcount:
            raise LeaseLost(f"session {lease.session} is written by another process now")
        for event in entry.events:
            if isinstance(event, SessionPut):
                execute(QUERIES["put_info"], (wire.encode(event.info), lease.session))

    def _post(self, change: AccountChange) -> None:
        for account in post(change, self._account, self._budget).values():
            self._put_account(account)
        if len(self._rows) > MOST_ROWS:
            self._rows.clear()

    def _put_account(self, account: Account) -> None:
        body = wire.encode(account)
        self._database.execute(QUERIES["put_account"], (account.id, blob(body)))
        self._rows[account.id] = (body, account)

    def _account(self, id: str) -> Account | None:
        row = self._database.execute(QUERIES["get_account"], (id,)).fetchone()
        if row is None:
            return None
        body, account = self._rows.get(id, (None, None))
        if row[0] == body:
            return account
        with self._sound(f"account {id}"):
            return wire.decode_account(row[0])

    def _budget(self, account: str) -> Budget | None:
        row = self._database.execute(QUERIES["budgets"], (account, 1)).fetchone()
        with self._sound(f"the budget of {account}"):
            return wire.decode_budget(row[0]) if row is not None else None

    def _read(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._database.reader.execute(QUERIES.get(query, query), values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._database.told(error) from error

    @contextmanager
    def _sound(self, what: str) -> Iterator[None]:
        """Raise `JournalRefused` for data that cannot be read: it was readable when written, so it is damaged."""
        try:
            yield
        except (ValueError, TypeError, LookupError) as error:
            self._database.damaged = True
            raise JournalRefused(f"{self._database.path}: {what} is damaged ({error})") from error

    async def load(self, session: str, after: int = 0) -> list[Entry]:
        first, last = self._keys(session)
        rows = self._read("load_entries", (first + after + 1, last))
        if not rows and not after:
            self._numbers.pop(session, None)
            raise NoSuchSession(f"there is no session {session}")
        with self._sound(f"session {session}"):
            found = [Entry(key - first, at, elapsed, wire.decode_events(events)) for key, at, elapsed, events in rows]
            if [entry.sequence for entry in found] != list(range(after + 1, after + len(found) + 1)):
                raise ValueError("its entries are not one after the other")
            return found

    async def submit(self, session: str, item: InboxItem, *, wake: Wake | None = None) -> bool:
        row = (self._number(session), item.id, wire.encode(item))

        def work() -> bool:
            if wake is not None:
                wake(self._database.writer)
            return bool(self._database.writer.execute(QUERIES["add_item"], row).rowcount)

        fresh = await self._commits.write(work, full=self._power)
        event = self._posted.pop(session, None)
        if event is not None:
            event.set()
        self._change(session, rests=True)
        return fresh

    async def inbox(self, session: str) -> list[InboxItem]:
        rows = self._read("open_items", (self._number(session),))
        with self._sound(f"the inbox of {session}"):
            return [wire.decode_item(row[0]) for row in rows]

    async def acquire(self, session: str) -> Lease | None:
        self._number(session)
        if session in self._locks:
            return None
        path = self._lock_folder / f"{session}.lock"
        try:
            self._lock_folder.mkdir(mode=0o700, exist_ok=True)
            handle = take_lock(path)
        except OSError as error:
            raise JournalFailed(f"{self._database.path}: the session cannot be locked: {error}") from error
        if handle is None:
            return None
        self._locks[session] = (handle, path)

        def work() -> int:
            writer = self._database.writer
            raised = writer.execute(QUERIES["raise_epoch"], (session,)).fetchone()
            if raised is None:
                # Another process has deleted it in the meantime.
                raise NoSuchSession(f"there is no session {session}")
            keys = self._keys(session)
            self._sequences[session] = writer.execute(QUERIES["last_entry"], keys).fetchone()[0] - keys[0]
            return int(raised[0])

        try:
            self._epochs[session] = epoch = await self._commits.write(work, full=False)
            return Lease(session, epoch)
        except BaseException:
            drop_lock(*self._locks.pop(session))
            raise

    async def renew(self, lease: Lease) -> None:
        # The kernel keeps the lock while this process lives; only a removed lock file can let another process in.
        rows = self._read("epoch", (lease.session,))
        if lease.session not in self._locks or not rows or rows[0][0] != lease.epoch:
            raise LeaseLost(f"session {lease.session} is written by another process now")

    async def release(self, lease: Lease) -> None:
        if self._epochs.get(lease.session) == lease.epoch and lease.session in self._locks:
            drop_lock(*self._locks.pop(lease.session))
            self._change(lease.session, rests=True)

    async def held(self, session: str) -> bool:
        # Only the id of a session that exists is a file name.
        if not self._read("session", (session,)):
            return False
        return session in self._locks or is_locked(self._lock_folder / f"{session}.lock")

    async def posted(self, session: str) -> None:
        event = self._posted.setdefault(session, asyncio.Event())
        while not event.is_set() and self._version() == self._looked.get(session):
            await _set_within(event, POLL_SECONDS)
        # Later commits of other processes show as a new version at the next call.
        self._looked[session] = self._version()
        self._posted.pop(session, None)

    def _change(self, session: str, *, rests: bool) -> None:
        """Count a change, and notify its waiters."""
        if len(self._changes) > MOST_ROWS:
            self._changes = {watched: self._changes.get(watched, 0) for watched in self._watchers}
        told = self._followers.get(session, set())
        if rests:
            self._ticks = self._changes[session] = self._ticks + 1
            told = told | self._watchers.get(session, set())
        for event in told:
            event.set()

    def _mark(self, session: str, *, every: bool) -> int:
        # No other process writes to a session that is locked here, and its drive checks the inbox itself.
        version = 0 if session in self._locks else self._version()
        sequence = self._sequences.get(session, 0) if every else 0
        return (self._changes.get(session, 0) << 32 | sequence) << 32 | version + 1

    async def changed(self, session: str, since: int, *, every: bool = False) -> int:
        event, waiting = asyncio.Event(), self._followers if every else self._watchers
        waiting[session].add(event)
        try:
            while (mark := self._mark(session, every=every)) == since:
                event.clear()
                await _set_within(event, POLL_SECONDS if session not in self._locks else None)
            return mark
        finally:
            waiting[session].discard(event)
            if not waiting[session]:
                del waiting[session]

    def _version(self) -> int:
        return int(self._read("data_version")[0][0])

    async def account(self, id: str) -> Account | None:
        rows = self._read("get_account", (id,))
        with self._sound(f"account {id}"):
            return wire.decode_account(rows[0][0]) if rows else None

    async def set_budget(self, account: str, change: BudgetChange) -> bool:
        def work() -> bool:
            if self._budget(account) == change.budget:
                return False
            self._database.execute(QUERIES["add_budget"], (account, change.at, wire.encode(change.budget)))
            rows = self._database.execute(QUERIES["accounts_between"], period_range(account)).fetchall()
            with self._sound(f"an account of {account}"):
                for row in (wire.decode_account(row[0]) for row in rows):
                    self._put_account(msgspec.structs.replace(row, limits=change.budget.of(row.scope)))
            return True

        return await self._commits.write(work, full=self._power)

    async def budgets(self, account: str, most: int = 1) -> list[BudgetChange]:
        rows = self._read("budgets", (account, most))
        with self._sound(f"the budget of {account}"):
            return [BudgetChange(wire.decode_budget(budget), at) for budget, at in rows]

    async def holding(self, root: str) -> list[Account]:
        # Rows are small and this is rare: only a request that waits for another's reservation reads them.
        rows = self._read("held_accounts", (root, f"{root}\U0010ffff"))
        with self._sound("an account"):
            found = [wire.decode_account(row[0]) for row in rows]
        return [account for account in found if account.held and is_account_in(account.id, root)]

    async def sessions(self, query: SessionQuery | None = None) -> list[SessionRow]:
        return page(self._rows_of_sessions(), query)

    def _rows_of_sessions(self) -> Iterator[SessionRow]:
        for number, body, key, at in self._read("list_sessions"):
            with self._sound(f"session number {number}"):
                info = msgspec.json.decode(body, type=SessionInfo)
                row = SessionRow(info, key - number * SESSION_SPAN, at)
            self._numbers[info.id] = number
            yield row

    async def delete(self, lease: Lease) -> None:
        number = self._number(lease.session)

        def work() -> None:
            writer = self._database.writer
            # The number stays taken, because another process may know the session by it.
            if not writer.execute(QUERIES["delete_session"], (number, lease.epoch)).rowcount:
                raise LeaseLost(f"session {lease.session} is written by another process now")
            writer.execute(QUERIES["delete_entries"], self._keys(lease.session))
            writer.execute(QUERIES["delete_items"], (number,))
            writer.execute(QUERIES["delete_accounts"], account_range(lease.session))

        await self._commits.write(work, full=False)
        self._numbers.pop(lease.session, None)

    async def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run a query on the tables beside the sessions."""
        if query.startswith("SELECT"):
            return self._read(query, values)
        return await self._commits.write(lambda: self._database.execute(query, values).fetchall(), full=False)

    async def size(self, session: str) -> int:
        return int(self._read("entry_bytes", self._keys(session))[0][0] or 0)

    async def shrink(self) -> None:
        for query in ("vacuum", "truncate_log"):
            await self._offload.run(partial(self._read, query))

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._offload.close()
            for held in self._locks.values():
                drop_lock(*held)
            self._locks.clear()
            if "_database" in self.__dict__:
                self._sync.close()
                self._database.close()


async def _set_within(event: asyncio.Event, seconds: float | None) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
