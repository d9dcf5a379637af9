"""`PostgresCommits`: writes a process's appends to PostgreSQL; those that wait together are one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import psycopg

from bridle.core.budget import Budget
from bridle.core.ledger import Account, BudgetRefused, post
from bridle.errors import JournalError, LeaseLost
from bridle.journal.postgres_append import APPEND, Append, extra_columns, session_columns
from bridle.journal.postgres_server import Connection, Server, answered
from bridle.seams import begin
from bridle.wire import entries as wire

MOST_ROWS = 2_000
BATCH_SECONDS = 60.0
AGAIN = ("40001", "40P01")
"""The server asks for the transaction once more: a conflict or a circle of waits."""

OWNERS = "SELECT id, version, budget FROM bridle.owner WHERE id = ANY (%s)"
ACCOUNTS = "SELECT id, version, account FROM bridle.account WHERE id = ANY (%s)"


class CachedAccount(NamedTuple):
    """A row of the ledger as last seen; version 0 means that there is none."""

    version: int
    account: Account | None


ABSENT = CachedAccount(0, None)


class CachedBudget(NamedTuple):
    """The budget of an account as last seen; version 0 means that none was ever set."""

    version: int
    budget: Budget | None


NO_BUDGET = CachedBudget(0, None)


class Unread(Exception):
    """An account, or the budget of an owner, is not in the cache."""

    def __init__(self, account: str = "", *, owner: str = "") -> None:
        self.account = account
        self.owner = owner


@dataclass(slots=True)
class PostgresCommits:
    """Writes appends in batches over one connection.

    The ledger's policy runs here, on cached rows. The server compares their versions, and writes nothing if one of them
    has changed; the batch is then computed again. A refusal counts only after its rows were read for it.
    """

    server: Server
    told: Callable[[int, bool], None]
    """Called for each session that was written, with whether its turn ended."""
    _queue: list[Append] = field(default_factory=list)
    _rows: dict[str, CachedAccount] = field(default_factory=dict)
    _budgets: dict[str, CachedBudget] = field(default_factory=dict)
    _connection: Connection | None = None
    _task: asyncio.Task[None] | None = None
    _timer: asyncio.TimerHandle | None = None
    """Looks whether the leases of the appends that wait have run out."""
    pid: int = 0
    """The server's process behind the connection, which sends this journal's own notifications."""

    def write(self, append: Append) -> asyncio.Future[None]:
        """Write one append with the next batch; `LeaseLost`, `BudgetRefused` or `JournalFailed` come with the future.

        An append whose holder loses its lease meanwhile waits no longer.
        """
        self._queue.append(append)
        if self._task is None:
            self._task = begin(self._drain())
        return append.done

    def _look(self, batch: list[Append], hopeless: asyncio.Future[None]) -> None:
        """Fail the appends whose holder has lost its leases: the server does not answer. Look again at a deadline."""
        waiting = [*batch, *self._queue]
        lost = [append for append in waiting if not append.holder.there]
        for append in lost:
            _fail(append, LeaseLost(f"session {append.session} is written by another process now"))
        if lost:
            self._queue = [append for append in self._queue if append.holder.there]
            hopeless.set_result(None)
        else:
            left = min(append.holder.seconds_left for append in waiting)
            self._timer = asyncio.get_running_loop().call_later(max(0.0, left), self._look, batch, hopeless)

    def forget(self, first: str, end: str) -> None:
        """Forget the accounts in this range of ids, which are deleted."""
        self._rows = {id: row for id, row in self._rows.items() if not first <= id < end}

    def _forget_all(self) -> None:
        self._rows.clear()
        self._budgets.clear()

    async def close(self) -> None:
        """Write what waits, and close the connection."""
        while self._task is not None:
            await asyncio.wait([self._task])
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()

    async def _drain(self) -> None:
        try:
            while self._queue:
                batch = self._next_batch()
                # Done when a lease has run out before the server has answered.
                hopeless: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                try:
                    self._look(batch, hopeless)
                    await answered(self._write_batch(batch), BATCH_SECONDS, hopeless)
                except (psycopg.Error, TimeoutError, JournalError) as error:
                    await self._fail(batch, error)
                except BaseException as error:
                    # An error here, or the end of the event loop: no caller may wait forever.
                    await self._fail([*batch, *self._queue], error)
                    raise
                finally:
                    if self._timer is not None:
                        self._timer.cancel()
        finally:
            self._task = None

    def _next_batch(self) -> list[Append]:
        """Take the waiting appends, at most one for each session: a second one builds on the first."""
        batch = {append.number: append for append in reversed(self._queue)}
        taken = set(map(id, batch.values()))
        self._queue = [append for append in self._queue if id(append) not in taken]
        return [*batch.values()]

    async def _fail(self, batch: Iterable[Append], error: BaseException) -> None:
        """Fail a batch whose outcome is unknown; the next one begins with a new connection and no cached rows."""
        self._forget_all()
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
        words = (
            error if isinstance(error, psycopg.Error) else psycopg.OperationalError(str(error) or "no answer in time")
        )
        failure = error if isinstance(error, JournalError) else self.server.explain(words)
        for append in batch:
            _fail(append, failure)

    async def _write_batch(self, batch: list[Append]) -> None:
        pending = batch
        while pending:
            staged, refused = await self._post(pending)
            ready = [append for append in pending if id(append) not in refused]
            problems = await self._call(ready, staged) if ready else []
            if problems:
                lost = self._learn(problems)
                for append in pending:
                    if append.number in lost:
                        _fail(append, LeaseLost(f"session {append.session} is written by another process now"))
                pending = [append for append in pending if append.number not in lost]
                continue
            self._finish(ready, staged)
            pending = self._confirmable([append for append in pending if id(append) in refused], refused)
        if len(self._rows) > MOST_ROWS:
            self._forget_all()

    def _learn(self, problems: list[tuple[Any, ...]]) -> set[int]:
        """Take the current rows into the cache; return the numbers of the sessions whose lease is lost."""
        for problem, key, version, body in problems:
            if problem == "moved":
                self._rows[key] = CachedAccount(version, wire.decode_account(body)) if version else ABSENT
            elif problem == "budget":
                self._budgets[key] = CachedBudget(version, wire.decode_budget(body)) if version else NO_BUDGET
        return {int(key) for problem, key, _, _ in problems if problem == "lost"}

    def _finish(self, written: list[Append], staged: dict[str, Account]) -> None:
        for key, account in staged.items():
            self._rows[key] = CachedAccount(self._rows[key].version + 1, account)
        for append in written:
            self.told(append.number, append.ends)
            if not append.done.done():
                append.done.set_result(None)

    def _confirmable(self, appends: list[Append], refused: dict[int, BudgetRefused]) -> list[Append]:
        """Fail the appends whose refusal is confirmed; return the others, whose rows are read anew."""
        again: list[Append] = []
        for append in appends:
            if append.confirmed:
                _fail(append, refused[id(append)])
                continue
            append.confirmed = True
            for key in self._chain(append):
                self._rows.pop(key, None)
            for owner in owners_of(append):
                self._budgets.pop(owner, None)
            again.append(append)
        return again

    def _chain(self, append: Append) -> list[str]:
        """Return the ids of the accounts of an append and of their ancestors, as far as they are cached."""
        assert append.change is not None
        found: dict[str, None] = {}
        waiting = [append.change.account, *(account.id for account in append.change.opens)]
        parents = {account.id: account.parent for account in append.change.opens}
        while waiting:
            key = waiting.pop()
            if key in found:
                continue
            found[key] = None
            row = self._rows.get(key, ABSENT)
            # An account that is opened again may get another parent.
            above = (parents.get(key), row.account.parent if row.account is not None else None)
            waiting += [parent for parent in above if parent is not None]
        return [*found]

    async def _post(self, appends: list[Append]) -> tuple[dict[str, Account], dict[int, BudgetRefused]]:
        """Return the ledger's rows after these appends, and the refusals; reads rows that are not cached."""
        while True:
            unread: set[str] = set()
            owners: set[str] = set()
            staged: dict[str, Account] = {}
            refused: dict[int, BudgetRefused] = {}
            find = partial(self._found, staged)
            for append in appends:
                if append.change is None:
                    continue
                try:
                    staged.update(post(append.change, find, self._budget))
                except BudgetRefused as error:
                    refused[id(append)] = error
                except Unread:
                    unread |= {*self._chain(append)} - self._rows.keys()
                    owners |= owners_of(append) - self._budgets.keys()
            if not unread and not owners:
                return staged, refused
            await self._read(unread, owners)

    def _found(self, staged: Mapping[str, Account], key: str) -> Account | None:
        """Return an account as this batch has changed it, or as cached; raises `Unread`."""
        if key in staged:
            return staged[key]
        row = self._rows.get(key)
        if row is None:
            raise Unread(key)
        return row.account

    def _budget(self, owner: str) -> Budget | None:
        known = self._budgets.get(owner)
        if known is None:
            raise Unread(owner=owner)
        return known.budget

    async def _read(self, ids: set[str], owners: set[str]) -> None:
        connection = await self._connected()
        if owners:
            found = await (await connection.execute(self.server.text(OWNERS), (sorted(owners),))).fetchall()
            self._budgets.update(dict.fromkeys(owners, NO_BUDGET))
            self._budgets.update(
                {key: CachedBudget(version, wire.decode_budget(body)) for key, version, body in found if version}
            )
        rows = await (await connection.execute(self.server.text(ACCOUNTS), (sorted(ids),))).fetchall()
        self._rows.update(dict.fromkeys(ids, ABSENT))
        self._rows.update(
            {key: CachedAccount(version, wire.decode_account(body)) for key, version, body in rows if version}
        )

    async def _call(self, appends: list[Append], staged: dict[str, Account]) -> list[tuple[Any, ...]]:
        """Write the appends and the rows; return what has changed meanwhile, in which case nothing is written."""
        connection = await self._connected()
        values = (
            *session_columns(appends, self.server.channel),
            *self._account_columns(staged),
            *self._owner_columns(appends),
            *extra_columns(appends),
        )
        while True:
            try:
                cursor = await connection.execute(self.server.text(APPEND), values)
                return await cursor.fetchall()
            except psycopg.Error as error:
                if error.sqlstate not in AGAIN:
                    raise

    def _account_columns(self, staged: dict[str, Account]) -> tuple[list[Any], ...]:
        keys = sorted(staged)
        versions = [self._rows[key].version for key in keys]
        return keys, versions, [bool(staged[key].held) for key in keys], [wire.encode(staged[key]) for key in keys]

    def _owner_columns(self, appends: list[Append]) -> tuple[list[Any], ...]:
        owners = sorted({owner for append in appends for owner in owners_of(append)})
        return owners, [self._budgets.get(owner, NO_BUDGET).version for owner in owners]

    async def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = await self.server.connect()
            self.pid = self._connection.info.backend_pid
        return self._connection


def owners_of(append: Append) -> set[str]:
    """Return the owners of the days and months that an append opens."""
    opened = append.change.opens if append.change is not None else ()
    return {account.owner for account in opened if account.owner}


def _fail(append: Append, error: BaseException) -> None:
    if not append.done.done():
        append.done.set_exception(error)
