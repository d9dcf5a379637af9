"""`prepare_queue`: creates or migrates the tables of Procrastinate, in a schema beside the journal's."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import psycopg

from bridle.errors import ConfigError, JournalRefused
from bridle.journal.postgres_server import MIGRATION_LOCK, Connection, Server

VERSION = "SELECT queue FROM bridle.version"
SET_VERSION = "UPDATE bridle.version SET queue = %s"
INTO_SCHEMA = "CREATE SCHEMA IF NOT EXISTS bridle_queue; SET LOCAL search_path TO bridle_queue, pg_temp"


def queue_scripts() -> tuple[Path, list[Path]]:
    """Return the script that creates the tables and those that change older ones; raises `ConfigError`."""
    # Found without an import: the package takes longer to load than most commands.
    found = find_spec("procrastinate")
    if found is None or not found.submodule_search_locations:
        raise ConfigError("workers need an extra: pip install 'bridle[postgres]'")
    folder = Path(found.submodule_search_locations[0]) / "sql"
    return folder / "schema.sql", sorted((folder / "migrations").glob("*.sql"))


async def prepare_queue(server: Server, connection: Connection, *, migrate: bool = False) -> None:
    """Create the tables if there are none. With `migrate`, bring older ones up to date; raises `JournalError`.

    Migrations may change what workers of an older release use: only `bridle database migrate` asks for them.
    """
    whole, changes = queue_scripts()
    newest = changes[-1].stem
    try:
        async with connection.transaction():
            version = await queue_version(server, connection)
            if version >= newest or (version and not migrate):
                return _check(server, version, changes)
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
            version = await queue_version(server, connection)
            await connection.execute(server.text(INTO_SCHEMA))
            for script in [whole] if not version else [each for each in changes if each.stem > version]:
                await connection.execute(script.read_bytes())
            await connection.execute(server.text(SET_VERSION), (newest,))
    except psycopg.Error as error:
        raise server.explain(error) from error


async def queue_version(server: Server, connection: Connection) -> str:
    """Return the last migration of the tables, empty if there are none."""
    row = await (await connection.execute(server.text(VERSION))).fetchone()
    return str(row[0]) if row is not None else ""


def _check(server: Server, version: str, changes: list[Path]) -> None:
    missing = [script.stem for script in changes if script.stem > version]
    if missing:
        raise JournalRefused(
            f"{server.place}: the tables of the workers are older than this program: run bridle database migrate"
        )
