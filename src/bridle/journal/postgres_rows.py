"""`PostgresRows`: implements `Rows` on PostgreSQL, to copy and check journals; turns use `PostgresJournal`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import psycopg
from psycopg import IsolationLevel

from bridle.core.events import SessionInfo
from bridle.core.ids import account_range
from bridle.errors import JournalRefused
from bridle.journal.address import JournalAddress
from bridle.journal.postgres_queries import ALIVE
from bridle.journal.postgres_server import Connection, Server
from bridle.journal.rows import AccountRow, BudgetRow, Ledger, SessionMark, WholeSession, without
from bridle.journal.wakes import queue_of

HOLDS = b'"held":'
"""In the encoded row of an account with reservations, and in no other."""
MARKS = """
    SELECT s.id, s.epoch, s.sequence, (
        SELECT coalesce(max(i.number) + count(*) FILTER (WHERE i.item IS NULL), 0) FROM bridle.inbox AS i
        WHERE i.session = s.number
    ) FROM bridle.session AS s ORDER BY s.number
"""
LEASED = f"SELECT s.id FROM bridle.session AS s WHERE {ALIVE} ORDER BY s.number"
SESSION = "SELECT number, info, epoch FROM bridle.session WHERE id = %s"
ENTRIES = "SELECT sequence, at, elapsed, events FROM bridle.entry WHERE session = %s ORDER BY sequence"
ITEMS = "SELECT id, item FROM bridle.inbox WHERE session = %s ORDER BY number"
ACCOUNTS = "SELECT id, account FROM bridle.account WHERE id >= %s AND id < %s AND version > 0 ORDER BY id"
ALL_ACCOUNTS = "SELECT id, account FROM bridle.account WHERE version > 0 ORDER BY id"
BUDGETS = "SELECT owner, at, budget FROM bridle.budget ORDER BY number"
ADD_SESSION = """
    INSERT INTO bridle.session (id, info, queue, sequence, updated, epoch) VALUES (%s, %s, %s, %s, %s, %s)
    ON CONFLICT (id) DO NOTHING RETURNING number
"""
ADD_ENTRY = "INSERT INTO bridle.entry (session, sequence, at, elapsed, events) VALUES (%s, %s, %s, %s, %s)"
ADD_ITEM = "INSERT INTO bridle.inbox (session, id, item) VALUES (%s, %s, %s)"
PUT_ACCOUNT = """
    INSERT INTO bridle.account AS a (id, version, holds, account) VALUES (%s, 1, %s, %s)
    ON CONFLICT (id) DO UPDATE SET version = a.version + 1, holds = excluded.holds, account = excluded.account
"""
PUT_OWNER = """
    INSERT INTO bridle.owner AS o (id, version, budget) VALUES (%s, 1, %s)
    ON CONFLICT (id) DO UPDATE SET version = o.version + 1, budget = excluded.budget
"""
ADD_BUDGET = "INSERT INTO bridle.budget (owner, at, budget) VALUES (%s, %s, %s)"


async def open_rows(address: JournalAddress, *, snapshot: bool) -> PostgresRows:
    """Connect to a journal, and bring its tables up to date; create them unless it is a snapshot.

    Raises `JournalError`.
    """
    server = Server(address.url, listen_url=address.listen_url, schema=address.schema)
    connection = await server.connect(direct=True)
    # The address may lead through a pool of connections, which keeps no prepared queries.
    connection.prepare_threshold = None
    try:
        if snapshot and await server.version(connection) == 0:
            raise JournalRefused(
                f"{server.place}: the schema {server.schema} has no journal: name another with --source-schema"
            )
        await server.prepare(connection)
        return PostgresRows(server, connection, snapshot=snapshot)
    except BaseException:
        await connection.close()
        raise


class PostgresRows:
    """See `Rows`."""

    def __init__(self, server: Server, connection: Connection, *, snapshot: bool) -> None:
        self.place = f"{server.place} (schema {server.schema})"
        self._server = server
        self._connection = connection
        self._snapshot = snapshot
        self._begun = False

    @asynccontextmanager
    async def _explained(self) -> AsyncIterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._server.explain(error) from error

    async def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        async with self._explained():
            if self._snapshot and not self._begun:
                # Its first query decides which state the snapshot shows.
                await self._connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
                await self._connection.set_read_only(True)
                await self._connection.set_autocommit(False)
                self._begun = True
            cursor = await self._connection.execute(self._server.text(query), values)
            return await cursor.fetchall()

    async def marks(self) -> list[SessionMark]:
        return [SessionMark(*row) for row in await self._rows(MARKS)]

    async def leased(self) -> list[str]:
        return [id for (id,) in await self._rows(LEASED)]

    async def session(self, id: str) -> WholeSession | None:
        found = await self._rows(SESSION, (id,))
        if not found:
            return None
        number, info, epoch = found[0]
        return WholeSession(
            id=id,
            info=info,
            epoch=epoch,
            entries=tuple(await self._rows(ENTRIES, (number,))),
            items=tuple(await self._rows(ITEMS, (number,))),
            accounts=tuple(await self._rows(ACCOUNTS, account_range(id))),
        )

    async def ledger(self, sessions: Collection[str]) -> Ledger:
        budgets = tuple(BudgetRow(*row) for row in await self._rows(BUDGETS))
        return Ledger(without(await self._rows(ALL_ACCOUNTS), sessions), budgets)

    async def add_session(self, session: WholeSession) -> bool:
        sequence, updated = session.entries[-1][:2] if session.entries else (0, 0.0)
        row = (session.id, session.info, _queue(session), sequence, updated, session.epoch)
        async with self._explained(), self._connection.transaction(), self._connection.cursor() as cursor:
            await cursor.execute(self._server.text(ADD_SESSION), row)
            added = await cursor.fetchone()
            if added is None:
                return False
            number = added[0]
            text = self._server.text
            await cursor.executemany(text(ADD_ENTRY), [(number, *entry) for entry in session.entries])
            await cursor.executemany(text(ADD_ITEM), [(number, *item) for item in session.items])
            await cursor.executemany(text(PUT_ACCOUNT), _account_values(session.accounts))
        return True

    async def set_ledger(self, ledger: Ledger) -> None:
        text = self._server.text
        last = {row.owner: row.budget for row in ledger.budgets}
        budgets = [(row.owner, row.at, row.budget) for row in ledger.budgets]
        async with self._explained(), self._connection.transaction(), self._connection.cursor() as cursor:
            # Accounts before owners, both in order, as appends lock them.
            await cursor.executemany(text(PUT_ACCOUNT), _account_values(ledger.accounts))
            await cursor.executemany(text(PUT_OWNER), sorted(last.items()))
            await cursor.executemany(text(ADD_BUDGET), budgets)

    async def renew(self) -> None:
        async with self._explained():
            await self._connection.rollback()

    async def close(self) -> None:
        await self._connection.close()


def _account_values(accounts: Sequence[AccountRow]) -> list[tuple[str, bool, bytes]]:
    return [(id, HOLDS in body, body) for id, body in accounts]


def _queue(session: WholeSession) -> str:
    try:
        return queue_of(msgspec.json.decode(session.info, type=SessionInfo))
    except msgspec.MsgspecError as error:
        raise JournalRefused(
            f"session {session.id} is damaged ({error}): see `bridle database check --deep`"
        ) from error
