"""Selection of a journal: in memory, in a file, or one that the caller provides."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from bridle.journal.journal import Journal
from bridle.journal.memory import MemoryJournal
from bridle.seams import Seams


def open_journal(given: Journal | str | Path | None, durability: Literal["power", "process"], seams: Seams) -> Journal:
    """Return the given journal, one in SQLite for a path, or one in memory for None."""
    if given is None:
        return MemoryJournal()
    if isinstance(given, (str, Path)):
        # Imported only when sessions are kept: a turn in memory needs no database.
        from bridle.journal.sqlite import SqliteJournal

        return SqliteJournal(Path(given).expanduser(), seams=seams, durability=durability)
    return given
