"""`Database`: opens, checks and migrates a journal's SQLite file, explains errors; `sqlite` reads and writes rows."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bridle.errors import JournalError, JournalFailed, JournalFull, JournalRefused

APPLICATION_ID = 0x42726964
PAGE_SIZE = 1024
"""Commits are small and frequent, and each writes whole pages: small pages halve the bytes written to disk."""
RESERVE_BYTES = 2 * 1024 * 1024
BUSY_MILLISECONDS = 10_000
HEADER_BYTES = 100

_HERE = Path(__file__).parent


def _read_queries() -> dict[str, str]:
    named = (_HERE / "queries.sql").read_text().split("-- name: ")[1:]
    return {name: query.strip() for name, _, query in (each.partition("\n") for each in named)}


QUERIES = _read_queries()


def migrations() -> list[Path]:
    """Return the scripts that create and change the tables, in the order of their versions."""
    return sorted((_HERE / "migrations").glob("*.sql"))


def error_code(error: Exception) -> int:
    """Return SQLite's primary error code; 0 for errors of Python's own layer."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def explain(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> JournalError:
    """Return the `JournalError` for an error of SQLite."""
    # Python cannot decode SQLite's message about a schema that is no longer text.
    code = sqlite3.SQLITE_CORRUPT if isinstance(error, UnicodeDecodeError) else error_code(error)
    words = " ".join(str(error).split())
    match code:
        case sqlite3.SQLITE_FULL:
            return JournalFull(f"{path}: the disk is full")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return JournalFailed(f"{path}: another process held the journal for too long")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return JournalFailed(f"{path}: the journal cannot be written ({words})")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return JournalRefused(
                f"{path}: the journal is damaged ({words}); nothing was changed. "
                "Move it away to start a new one, or restore it from a copy."
            )
    return JournalFailed(f"{path}: {words}")


class Database:
    """A writer and a reader on one file; only one thread at a time may use the writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notice = ""
        """Why the file is open for reading only; empty if it can be written."""
        self.damaged = False
        self._open_handles: list[sqlite3.Connection] = []
        self.log = path.with_name(path.name + "-wal")
        self.reserve = path.with_name(path.name + ".reserve")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Only a new file: closing any descriptor of one that is open here too would end SQLite's locks on it.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
            # One process at a time: a second one must not see the file between its first pragmas.
            with _private_file(path.with_name(path.name + ".opening")) as handle:
                fcntl.flock(handle, fcntl.LOCK_EX)
                self._refuse_a_log_without_its_file()
                self._open()
        except (sqlite3.Error, UnicodeDecodeError, JournalRefused) as error:
            self.damaged = True
            self.close()
            raise error if isinstance(error, JournalRefused) else explain(error, path) from error
        except OSError as error:
            raise JournalFailed(f"{path}: the journal cannot be opened: {error}") from error

    def _refuse_a_log_without_its_file(self) -> None:
        """Refuse an empty file with a log: SQLite would treat the file as new and delete the log with its data."""
        if self.path.stat().st_size < HEADER_BYTES and self.log.exists() and self.log.stat().st_size:
            raise JournalRefused(
                f"{self.path}: the journal is damaged (it is empty, and its log is not); nothing was changed. "
                "Move both away to start a new one, or restore them from a copy."
            )

    def _open(self) -> None:
        self.writer = self._connect()
        version = self._check()
        if version > len(migrations()):
            self._open_newer(version)
            return
        self._prepare(version)
        # One cursor for the writes of every step: creating a cursor costs as much as its work.
        self.execute = self.writer.cursor().execute
        self.reader = self._connect()
        self._keep_reserve()

    def _connect(self, mode: str = "rw") -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=0)
        self._open_handles.append(connection)
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        return connection

    def _check(self) -> int:
        (application,) = self.writer.execute("PRAGMA application_id").fetchone()
        (version,) = self.writer.execute("PRAGMA user_version").fetchone()
        (tables,) = self.writer.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and application != APPLICATION_ID:
            raise JournalRefused(f"{self.path}: this is a database of another program, not a journal")
        return int(version)

    def _open_newer(self, version: int) -> None:
        self.writer.close()
        self.writer = self.reader = self._connect("ro")
        self.notice = (
            f"{self.path}: the journal was written by a newer Bridle (schema {version}); it is open for reading only. "
            "Update Bridle to go on with its sessions."
        )

    def _prepare(self, version: int) -> None:
        writer = self.writer
        if version == 0:
            writer.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        writer.execute("PRAGMA journal_mode = WAL")
        # Checkpoints run where they delay no caller, instead of in the middle of a commit.
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("PRAGMA synchronous = NORMAL")
        for number, script in enumerate(migrations(), 1):
            if number > version:
                self._migrate(number, script.read_text())

    def _migrate(self, number: int, script: str) -> None:
        self.writer.execute("BEGIN IMMEDIATE")
        try:
            (version,) = self.writer.execute("PRAGMA user_version").fetchone()
            if version < number:
                for statement in _statements(script):
                    self.writer.execute(statement)
                self.writer.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self.writer.execute(f"PRAGMA user_version = {number}")
            self.writer.execute("COMMIT")
        except BaseException:
            self.writer.execute("ROLLBACK")
            raise

    def _keep_reserve(self) -> None:
        """Reserve disk space, so that an ending can be recorded on a full disk."""
        try:
            with _private_file(self.reserve) as handle:
                _allocate(handle)
        except OSError:
            self.reserve.unlink(missing_ok=True)

    def free_reserve(self) -> bool:
        """Release the reserved disk space; return False if there was none."""
        try:
            self.reserve.unlink()
        except OSError:
            return False
        return True

    def told(self, error: sqlite3.Error | UnicodeDecodeError) -> JournalError:
        """Return the `JournalError` for an error of SQLite; a file reported as damaged is not written any more."""
        explained = explain(error, self.path)
        self.damaged = self.damaged or isinstance(explained, JournalRefused)
        return explained

    def close(self) -> None:
        if self.damaged and self._open_handles:
            # The last writer to close would move the log into the file; a reader that closes last cannot.
            with suppress(sqlite3.Error, UnicodeDecodeError):
                self._connect("ro").execute("SELECT count(*) FROM sqlite_schema").fetchone()
        for connection in self._open_handles:
            connection.close()
        self._open_handles.clear()


@contextmanager
def _private_file(path: Path) -> Iterator[int]:
    """Open a file that only its owner may read and write, and create it if needed; a lock on it ends with the block."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def _allocate(handle: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, RESERVE_BYTES)
    elif os.fstat(handle).st_size < RESERVE_BYTES:
        # Where space cannot be allocated without writing, as on macOS, zeros reserve it.
        os.write(handle, bytes(RESERVE_BYTES))


def _statements(script: str) -> list[str]:
    lines = [line for line in script.splitlines() if not line.strip().startswith("--")]
    return [statement for statement in "\n".join(lines).split(";") if statement.strip()]
