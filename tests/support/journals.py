"""Journals as a person leaves them: a turn that ended, one whose process died, waiting prompts, budgets, holds."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from bridle.core.budget import Budget, BudgetChange
from bridle.core.events import Entry, PartPut, SessionInfo
from bridle.core.inbox import PromptItem
from bridle.core.ledger import Account, AccountChange, Reservation
from bridle.core.limits import UNLIMITED, Limits, Spent
from bridle.core.parts import TurnStart
from bridle.journal.journal import Journal
from bridle.journal.postgres import PostgresJournal
from bridle.journal.sqlite import SqliteJournal
from support.journal_entries import entry
from support.postgres import server_url

TABLES = ("session", "entry", "inbox", "account", "budget")


def opened(place: str) -> Journal:
    """Open a journal: in the file of a path, or else in the schema of this name."""
    if "/" in place:
        return SqliteJournal(Path(place))
    return PostgresJournal(server_url(), schema=place)


async def filled(journal: Journal, sessions: int = 3) -> list[str]:
    """Fill a journal with sessions of every kind, and return their ids."""
    day = Account("day/2026-11-19", parent="month/2026-11", limits=Limits(cost=5.0), scope="day")
    month = Account("month/2026-11", scope="month")
    await journal.set_budget("shop", BudgetChange(Budget(daily=Limits(cost=3.0)), 1.5))
    await journal.set_budget("shop", BudgetChange(Budget(daily=Limits(cost=4.0)), 2.5))
    ids = [f"ses_{number}" for number in range(sessions)]
    for id in ids:
        await journal.create(SessionInfo(id, "/projéct", created=1.1, title="tea \u2028 & more"))
        lease = await journal.acquire(id)
        assert lease is not None
        turn = Account(f"{id}/1", parent=day.id)
        begins = Entry(2, 2.25, 0.125, (PartPut(TurnStart("1.start", 1, "build", "m", 25, UNLIMITED, "deny")),))
        opens = AccountChange(turn.id, opens=(turn, day, month))
        await journal.submit(id, PromptItem(f"{id}.first", "taken"))
        await journal.append(lease, begins, change=opens, take=[f"{id}.first"], weight="intent")
        # The request of a process that dies: its reservation stays until another settles it.
        holds = AccountChange(turn.id, reserves=Reservation("1.1.1", Spent(tokens=700, cost=0.1 + 0.2)))
        await journal.append(lease, entry(3), change=holds, weight="intent")
        await journal.submit(id, PromptItem(f"{id}.second", "waits"))
        await journal.release(lease)
    return ids


def fill(place: str, sessions: int = 3) -> list[str]:
    """Fill a journal in a file or in a schema."""

    async def work() -> list[str]:
        journal = opened(place)
        ids = await filled(journal, sessions)
        await journal.close()
        return ids

    return asyncio.run(work())


def executed(query: str, *values: Any, url: str = "") -> list[tuple[Any, ...]]:
    """Run a query on the server."""
    with psycopg.connect(url or server_url(), autocommit=True) as connection:
        cursor = connection.execute(query.encode(), values)
        return cursor.fetchall() if cursor.description is not None else []


def contents(place: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return everything that a journal stores, but for what only its kind of database has."""
    files = "/" in place
    entry = "e.key & 0xffffffff" if files else "e.sequence"
    session = "e.key >> 32" if files else "e.session"
    queries = {
        "session": "SELECT id, info, epoch FROM {}session WHERE length(info) > 0 ORDER BY number",
        "entry": f"SELECT s.id, {entry}, at, elapsed, events FROM {{}}entry AS e "
        f"JOIN {{}}session AS s ON s.number = {session} ORDER BY s.number, 2",
        "inbox": "SELECT s.id, i.id, item FROM {}inbox AS i "
        "JOIN {}session AS s ON s.number = i.session ORDER BY i.number",
        "account": f"SELECT id, account FROM {{}}account {'' if files else 'WHERE version > 0'} ORDER BY id",
        "budget": f"SELECT {'account' if files else 'owner'}, at, budget FROM {{}}budget ORDER BY number",
    }
    if files:
        with closing(sqlite3.connect(place)) as connection:
            return {name: connection.execute(query.replace("{}", "")).fetchall() for name, query in queries.items()}
    return {name: executed(query.replace("{}", f"{place}.")) for name, query in queries.items()}
