"""`SqliteRows`: implements `Rows` on a SQLite file, to copy and check journals; turns use `SqliteJournal`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bridle.core.ids import account_range
from bridle.errors import ConfigError, JournalRefused
from bridle.journal.database import QUERIES, Database
from bridle.journal.lock import is_locked, lock_folder
from bridle.journal.rows import BudgetRow, Ledger, SessionMark, WholeSession, without
from bridle.journal.sqlite import SESSION_SPAN

MARKS = """
SELECT s.id, s.epoch, (SELECT max(key) FROM entry WHERE key BETWEEN s.number * :span AND s.number * :span + :span - 1),
    s.number, (SELECT coalesce(max(number) + sum(item IS NULL), 0) FROM inbox WHERE session = s.number)
FROM session AS s WHERE length(s.info) ORDER BY s.number
"""
SESSION = "SELECT number, info, epoch FROM session WHERE id = ? AND length(info)"
ITEMS = "SELECT id, item FROM inbox WHERE session = ? ORDER BY number"
ACCOUNTS = "SELECT id, account FROM account WHERE id >= ? AND id < ? ORDER BY id"
ALL_ACCOUNTS = "SELECT id, account FROM account ORDER BY id"
BUDGETS = "SELECT account, at, budget FROM budget ORDER BY number"
ADD_SESSION = "INSERT OR IGNORE INTO session (id, epoch, info) VALUES (?, ?, ?) RETURNING number"
ADD_ENTRY = "INSERT INTO entry (key, at, elapsed, events) VALUES (?, ?, ?, ?)"
ADD_ITEM = "INSERT INTO inbox (session, id, item) VALUES (?, ?, ?)"


def existing_file(path: Path) -> Path:
    """Return the path of a journal; raises `ConfigError` if there is no file."""
    if not path.is_file():
        raise ConfigError(f"{path}: there is no journal here: create one with `bridle database init`, or name another")
    return path


def open_file(path: Path) -> Database:
    """Open the file of a journal, and bring its tables up to date; raises `JournalRefused` for a newer one."""
    database = Database(path)
    if database.notice:
        database.close()
        raise JournalRefused(database.notice)
    return database


class SqliteRows:
    """See `Rows`."""

    def __init__(self, path: Path, *, snapshot: bool) -> None:
        self.place = str(path)
        self._locks = lock_folder(path)
        self._database = open_file(existing_file(path) if snapshot else path)
        self._snapshot = snapshot
        # A copy counts once it survives a power loss.
        self._database.writer.execute("PRAGMA synchronous = FULL")
        if snapshot:
            self._database.reader.execute("BEGIN")

    def _read(self, query: str, values: Any = ()) -> list[tuple[Any, ...]]:
        try:
            return self._database.reader.execute(query, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._database.told(error) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        writer = self._database.writer
        try:
            writer.execute("BEGIN IMMEDIATE")
            try:
                yield writer
                writer.execute("COMMIT")
            except BaseException:
                writer.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._database.told(error) from error

    async def marks(self) -> list[SessionMark]:
        found = self._read(MARKS, {"span": SESSION_SPAN})
        return [
            SessionMark(id, epoch, (key or 0) - number * SESSION_SPAN, item) for id, epoch, key, number, item in found
        ]

    async def leased(self) -> list[str]:
        return [mark.id for mark in await self.marks() if is_locked(self._locks / f"{mark.id}.lock")]

    async def session(self, id: str) -> WholeSession | None:
        found = self._read(SESSION, (id,))
        if not found:
            return None
        number, info, epoch = found[0]
        first = number * SESSION_SPAN
        entries = self._read(QUERIES["load_entries"], (first, first + SESSION_SPAN - 1))
        return WholeSession(
            id=id,
            info=info,
            epoch=epoch,
            entries=tuple((key - first, at, elapsed, events) for key, at, elapsed, events in entries),
            items=tuple(self._read(ITEMS, (number,))),
            accounts=tuple(self._read(ACCOUNTS, account_range(id))),
        )

    async def ledger(self, sessions: Collection[str]) -> Ledger:
        budgets = tuple(BudgetRow(*row) for row in self._read(BUDGETS))
        return Ledger(without(self._read(ALL_ACCOUNTS), sessions), budgets)

    async def add_session(self, session: WholeSession) -> bool:
        with self._transaction() as writer:
            added = writer.execute(ADD_SESSION, (session.id, session.epoch, session.info)).fetchall()
            if not added:
                return False
            number = added[0][0]
            first = number * SESSION_SPAN
            writer.executemany(ADD_ENTRY, ((first + sequence, *rest) for sequence, *rest in session.entries))
            writer.executemany(ADD_ITEM, ((number, *item) for item in session.items))
            writer.executemany(QUERIES["put_account"], session.accounts)
        return True

    async def set_ledger(self, ledger: Ledger) -> None:
        with self._transaction() as writer:
            writer.executemany(QUERIES["put_account"], ledger.accounts)
            writer.executemany(QUERIES["add_budget"], [(row.owner, row.at, row.budget) for row in ledger.budgets])

    async def renew(self) -> None:
        self._read("COMMIT")
        self._read("BEGIN")

    async def close(self) -> None:
        self._database.close()
