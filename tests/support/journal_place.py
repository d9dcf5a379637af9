"""The journal of a folder, as every process of a test opens it: a file in it, or a schema that is named in it."""

from __future__ import annotations

from pathlib import Path

from bridle.journal.journal import Journal
from bridle.journal.postgres import PostgresJournal
from bridle.journal.postgres_presence import LeaseTimes
from bridle.journal.sqlite import SqliteJournal
from support.postgres import new_schema, server_url

TIMES = LeaseTimes(lease_seconds=1.5, heartbeat_seconds=0.5, deadline_seconds=1.0, answer_seconds=0.5)
"""Short, so that the sessions of a killed process are taken over soon."""


def put_on_server(folder: Path) -> None:
    """Have the journal of this folder in a schema of the test server. To be called before its processes start."""
    (folder / "journal.url").write_text(f"{server_url()}\n{new_schema()}")


def is_on_server(folder: Path) -> bool:
    return (folder / "journal.url").exists()


def journal_in(folder: Path) -> Journal:
    """Open the journal of a folder."""
    if not is_on_server(folder):
        return SqliteJournal(folder / "journal.db")
    url, schema = (folder / "journal.url").read_text().split()
    return PostgresJournal(url, schema=schema, times=TIMES)
