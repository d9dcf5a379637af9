"""`check_file`: checks a journal's SQLite file without changing it: version, damage, rights, free space."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from bridle.errors import JournalRefused
from bridle.journal.database import APPLICATION_ID, explain, migrations
from bridle.journal.finding import Finding, JournalNumbers

LITTLE_ROOM = 200 << 20
NUMBERS = """
SELECT (SELECT count(*) FROM session WHERE length(info)), (SELECT count(*) FROM entry),
    (SELECT coalesce(sum(length(events)), 0) FROM entry), (SELECT count(*) FROM inbox WHERE item IS NOT NULL)
"""


def file_version(path: Path) -> int:
    """Return the schema version of a journal; raises `JournalError` for another program's database or a newer one."""
    try:
        with closing(_connect(path)) as connection:
            return _version(connection, path)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise explain(error, path) from error


def check_file(path: Path, *, deep: bool) -> tuple[list[Finding], JournalNumbers]:
    """Return what is found; raises `JournalError` if the file cannot be read at all."""
    if not path.is_file():
        words = f"{path}: there is no journal yet: create it with `bridle database init`, or run a first prompt"
        return [Finding("fault", words)], JournalNumbers()
    version = file_version(path)
    found = [Finding("good", f"{path}: SQLite {sqlite3.sqlite_version}"), _tables(version)]
    try:
        with closing(_connect(path)) as connection:
            found += _damage(connection, path, deep=deep)
            numbers = JournalNumbers(*connection.execute(NUMBERS).fetchone())
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise explain(error, path) from error
    return [*found, *_file(path)], numbers


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _version(connection: sqlite3.Connection, path: Path) -> int:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise JournalRefused(f"{path}: this is a database of another program, not a journal")
    if version > len(migrations()):
        raise JournalRefused(f"{path}: the journal belongs to a newer Bridle (schema {version}): update Bridle")
    return int(version)


def _tables(version: int) -> Finding:
    if version < len(migrations()):
        words = f"schema {version} of an older release: bring it up to date with `bridle database migrate`"
        return Finding("fault", words)
    return Finding("good", f"schema {version} is up to date")


def _damage(connection: sqlite3.Connection, path: Path, *, deep: bool) -> Iterator[Finding]:
    look = "integrity_check" if deep else "quick_check"
    lines = [str(line) for (line,) in connection.execute(f"PRAGMA {look}(3)")]
    for line in lines:
        if line != "ok":
            words = " ".join(line.split())
            yield Finding("fault", f"{path} is damaged ({words}): restore it from a backup, or move it away")
    if lines == ["ok"]:
        yield Finding("good", "the file is not damaged")


def _file(path: Path) -> Iterator[Finding]:
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        yield Finding("fault", f"{path}: this user may not write here: correct the rights of the file and its folder")
    if path.stat().st_mode & 0o077:
        yield Finding("warning", f"{path}: other users may read it: chmod 600 {path}")
    free = shutil.disk_usage(path.parent).free
    room = f"{free >> 20:,} MB are free on its disk"
    if free < LITTLE_ROOM:
        yield Finding("warning", f"only {room}: delete sessions with `bridle database prune --days N`")
    else:
        yield Finding("good", room)
