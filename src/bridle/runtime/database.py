"""Functions behind `bridle database`: create, check, migrate, copy and prune a journal, in SQLite or on PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.errors import ConfigError, JournalError, JournalRefused
from bridle.journal.address import JournalAddress, journal_address
from bridle.journal.finding import Finding, JournalHealth, JournalNumbers
from bridle.seams import Seams

if TYPE_CHECKING:
    from bridle.journal.copy_journal import Copied, Progress
    from bridle.journal.postgres_upkeep import TablesChange
    from bridle.journal.rows import Rows
    from bridle.runtime.runtime import Runtime


class PruneResult(msgspec.Struct, frozen=True):
    """The sessions that were deleted, and the numbers of removed rows of dead workers and finished jobs."""

    sessions: Sequence[str]
    workers: int = 0
    jobs: int = 0


def own_journal(directory: Path | None = None) -> JournalAddress:
    """Return the address of the journal that the user's settings name; raises `ConfigError`."""
    from bridle.config.load import journal_place, load

    settings = load(directory or Path.cwd()).settings
    given = settings.journal
    return _usable(
        journal_address(journal_place(settings, os.environ), listen_url=given.listen_url, schema=given.schema)
    )


def named_journal(name: str, schema: str = "") -> JournalAddress:
    """Return the address of a journal given on the command line; the schema of the settings holds if none is given."""
    own = own_journal()
    listen_url = own.listen_url if name == own.url else ""
    return _usable(journal_address(name, listen_url=listen_url, schema=schema or own.schema))


def _usable(address: JournalAddress) -> JournalAddress:
    if address.url and find_spec("psycopg") is None:
        raise ConfigError("a journal on PostgreSQL needs an extra: pip install 'bridle[postgres]'")
    return address


async def init_database(address: JournalAddress, role: str = "", *, only_print: bool = False) -> list[str]:
    """Create what is missing; return what was done in words, or the grants for a role. May be called again."""
    if not address.url:
        if role:
            raise ConfigError("--role needs a journal on PostgreSQL: a file belongs to the user who creates it")
        from bridle.journal.sqlite_rows import open_file

        there = address.path.is_file() and address.path.stat().st_size > 0
        open_file(address.path).close()
        return [f"{address.path}: {'is there already' if there else 'created'}"]
    from bridle.journal.postgres_upkeep import create_tables

    change = await create_tables(address, role, only_print=only_print)
    return [*_changes(change, "created"), *(f"{grant};" for grant in change.grants)]


async def migrate_database(address: JournalAddress) -> list[str]:
    """Bring the tables of an older release up to date; return what was done in words. Raises `JournalRefused`."""
    if address.url:
        from bridle.journal.postgres_upkeep import migrate_tables

        change = await migrate_tables(address)
        words = _changes(change, "no tables")
        if change.before != change.after:
            words.append("grant the rights on new tables: bridle database init --role NAME, for each role")
        return words
    from bridle.journal.sqlite_check import file_version
    from bridle.journal.sqlite_rows import existing_file, open_file

    before = file_version(existing_file(address.path))
    open_file(address.path).close()
    return [_change(str(address.path), str(before), str(file_version(address.path)), "created")]


def _changes(change: TablesChange, fresh: str) -> list[str]:
    before, after = change.before, change.after
    return [
        _change("journal", str(before.journal or ""), str(after.journal), fresh),
        _change("queue", before.queue, after.queue, fresh),
    ]


def _change(what: str, before: str, after: str, fresh: str) -> str:
    if before == after:
        return f"{what}: schema {after} is up to date" if after else f"{what}: no tables"
    return f"{what}: schema {before} → {after}" if before else f"{what}: {fresh} (schema {after})"


async def check_database(address: JournalAddress, *, deep: bool = False) -> JournalHealth:
    """Check a journal without changing it; with `deep`, also every session and the ledger."""
    place = str(address.path)
    numbers = JournalNumbers()
    try:
        if address.url:
            from bridle.journal.postgres_check import check_server
            from bridle.journal.postgres_server import Server

            place = Server(address.url).place
            findings, numbers = await check_server(address, Seams())
        else:
            from bridle.journal.sqlite_check import check_file

            findings, numbers = check_file(address.path, deep=deep)
        if deep and not _faults(findings):
            findings = [*findings, *await _check_deep(address)]
    except JournalError as error:
        findings = [Finding("fault", str(error))]
    return JournalHealth(place=place, sound=not _faults(findings), findings=findings, numbers=numbers)


def _faults(findings: Sequence[Finding]) -> bool:
    return any(finding.level == "fault" for finding in findings)


async def _check_deep(address: JournalAddress) -> list[Finding]:
    from bridle.journal.check_rows import check_rows

    rows = await _open_rows(address, snapshot=True)
    try:
        return await check_rows(rows)
    finally:
        await rows.close()


async def _open_rows(address: JournalAddress, *, snapshot: bool) -> Rows:
    if address.url:
        from bridle.journal.postgres_rows import open_rows

        return await open_rows(address, snapshot=snapshot)
    from bridle.journal.sqlite_rows import SqliteRows

    return SqliteRows(address.path, snapshot=snapshot)


async def copy_database(source: JournalAddress, target: JournalAddress, progress: Progress) -> Copied:
    """Copy all sessions and the ledger, and compare them; continues a copy that was interrupted.

    Raises `ConfigError` for one journal given twice, and `JournalError`.
    """
    from bridle.journal.copy_journal import copy_journal

    if source == target or (not source.url and not target.url and _same_file(source.path, target.path)):
        raise ConfigError("the source and the target are the same journal: name two")
    reading = await _open_rows(source, snapshot=True)
    try:
        writing = await _open_rows(target, snapshot=False)
        try:
            return await copy_journal(reading, writing, progress)
        finally:
            await writing.close()
    finally:
        await reading.close()


def _same_file(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


async def prune_database(
    runtime: Runtime, *, days: float = 0, megabytes: float = 0, dry_run: bool = False
) -> PruneResult:
    """Delete expired sessions and, on PostgreSQL, the rows of dead workers and finished jobs; or only count them.

    Without an age and a size, those of the settings count. Raises `ConfigError` if there is nothing to prune by.
    """
    if notice := getattr(runtime.journal, "notice", ""):
        raise JournalRefused(notice)
    if not days and not megabytes:
        days, megabytes = runtime.settings.sessions.keep_days, runtime.settings.sessions.keep_mb
    address = own_journal(runtime.directory)
    if not (days or megabytes or address.url):
        raise ConfigError("no age or size is set: give --days or --mb, or set sessions.keep_days")
    from bridle.runtime.retention import expired, prune

    look = expired if dry_run else prune
    gone = await look(runtime, days=days, megabytes=megabytes) if days or megabytes else []
    if not address.url:
        return PruneResult(gone)
    from bridle.journal.postgres_upkeep import prune_tables

    removed = await prune_tables(address, dry_run=dry_run)
    return PruneResult(gone, removed.workers, removed.jobs)
