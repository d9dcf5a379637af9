"""Opens the journal of a runtime: in memory, in a SQLite file, on PostgreSQL, or the object that the caller passed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from bridle.errors import ConfigError
from bridle.journal.address import is_postgres
from bridle.journal.journal import Journal
from bridle.journal.memory import MemoryJournal
from bridle.seams import Seams


def open_journal(
    given: Journal | str | Path | None,
    durability: Literal["power", "process"],
    seams: Seams,
    *,
    listen_url: str = "",
    schema: str = "bridle",
) -> Journal:
    """Return the given journal, one on PostgreSQL for a URL, one in SQLite for a path, or one in memory for None.

    `listen_url` and `schema` concern PostgreSQL alone. Raises `ConfigError` for an invalid address.
    """
    if given is None:
        return MemoryJournal()
    if isinstance(given, str) and is_postgres(given):
        try:
            from bridle.journal.postgres import PostgresJournal
        except ImportError as error:
            raise ConfigError(
                f"a journal on PostgreSQL needs an extra: pip install 'bridle[postgres]' ({error})"
            ) from error
        return PostgresJournal(given, listen_url=listen_url, schema=schema, seams=seams, durability=durability)
    if isinstance(given, str) and (not given or not given.isprintable()):
        raise ConfigError(f"journal: {given!r} is neither a path nor an address")
    if isinstance(given, (str, Path)):
        # Imported only when sessions are kept: a turn in memory needs no database.
        from bridle.journal.sqlite import SqliteJournal

        return SqliteJournal(Path(given).expanduser(), seams=seams, durability=durability)
    return given
