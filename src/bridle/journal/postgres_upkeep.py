"""`create_tables`, `migrate_tables` and `prune_tables`: the upkeep of a journal's tables on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import psycopg

from bridle.errors import JournalRefused
from bridle.journal.address import JournalAddress
from bridle.journal.postgres_grants import grant_data_rights
from bridle.journal.postgres_server import Connection, Server, migrations
from bridle.journal.queue_tables import prepare_queue, queue_scripts, queue_version

DEAD_SECONDS = 60.0
"""A worker of the queue without a sign of life for this long counts as dead; its jobs are swept much earlier."""
DEAD_PROCESSES = """
    WITH gone AS (
        DELETE FROM bridle.worker AS w WHERE until < clock_timestamp()
        AND NOT EXISTS (SELECT FROM bridle.session AS s WHERE s.holder = w.id) RETURNING id
    ) SELECT count(*) FROM gone
"""
DEAD_WORKERS = """
    WITH gone AS (
        DELETE FROM bridle_queue.procrastinate_workers AS w
        WHERE last_heartbeat < clock_timestamp() - make_interval(secs => %s)
        AND NOT EXISTS (SELECT FROM bridle_queue.procrastinate_jobs AS j WHERE j.worker_id = w.id AND status = 'doing')
        RETURNING id
    ) SELECT count(*) FROM gone
"""
FINISHED_JOBS = """
    WITH gone AS (
        DELETE FROM bridle_queue.procrastinate_jobs
        WHERE status IN ('succeeded', 'failed', 'cancelled', 'aborted') RETURNING id
    ) SELECT count(*) FROM gone
"""
IN_QUEUE = "SET LOCAL search_path TO bridle_queue, pg_temp"


class TableVersions(msgspec.Struct, frozen=True):
    """The schema versions of a journal and of its queue, 0 and empty without tables."""

    journal: int
    queue: str


class Pruned(msgspec.Struct, frozen=True):
    """Rows that were removed."""

    workers: int
    jobs: int


class TablesChange(msgspec.Struct, frozen=True):
    """The schema versions before and after, and the grants for a role."""

    before: TableVersions
    after: TableVersions
    grants: tuple[str, ...] = ()


@asynccontextmanager
async def connected(address: JournalAddress) -> AsyncIterator[tuple[Server, Connection]]:
    """Open the server of a journal and a direct connection; raises `JournalError`, also for the server's errors."""
    server = Server(address.url, listen_url=address.listen_url, schema=address.schema)
    connection = await server.connect(direct=True)
    try:
        yield server, connection
    except psycopg.Error as error:
        raise server.explain(error) from error
    finally:
        await connection.close()


async def table_versions(server: Server, connection: Connection) -> TableVersions:
    """Return the versions of the tables; raises `JournalRefused` if they are newer than this program."""
    journal = await server.version(connection)
    queue = await queue_version(server, connection) if journal else ""
    newest = queue_scripts()[1][-1].stem
    if queue > newest:
        raise JournalRefused(
            f"{server.place}: the queue belongs to a newer Procrastinate (schema {queue}, here {newest}): "
            "update with pip install -U procrastinate"
        )
    return TableVersions(journal, queue)


async def create_tables(address: JournalAddress, role: str = "", *, only_print: bool = False) -> TablesChange:
    """Create the tables of the journal and its queue if they are missing, and let a role work with their data."""
    async with connected(address) as (server, connection):
        before = await table_versions(server, connection)
        await server.prepare(connection)
        await prepare_queue(server, connection)
        grants = await grant_data_rights(server, connection, role, only_print=only_print) if role else ()
        return TablesChange(before, await table_versions(server, connection), grants)


async def migrate_tables(address: JournalAddress) -> TablesChange:
    """Bring the tables of an older release up to date, one process at a time; raises `JournalRefused` without any."""
    async with connected(address) as (server, connection):
        before = await table_versions(server, connection)
        if not before.journal:
            raise JournalRefused(
                f"{server.place}: the schema {server.schema} has no journal: create it with `bridle database init`"
            )
        await server.prepare(connection)
        if before.queue:
            await prepare_queue(server, connection, migrate=True)
        return TablesChange(before, await table_versions(server, connection))


async def prune_tables(address: JournalAddress, *, dry_run: bool) -> Pruned:
    """Remove the rows of dead workers and of finished jobs; with `dry_run`, only count them."""
    async with connected(address) as (server, connection):
        versions = await table_versions(server, connection)
        workers = jobs = 0
        async with connection.transaction(force_rollback=dry_run):
            if versions.journal:
                workers += await _count(server, connection, DEAD_PROCESSES)
            if versions.queue:
                # Triggers of the queue name its tables without a schema.
                await connection.execute(server.text(IN_QUEUE))
                jobs = await _count(server, connection, FINISHED_JOBS)
                workers += await _count(server, connection, DEAD_WORKERS, DEAD_SECONDS)
        return Pruned(workers, jobs)


async def _count(server: Server, connection: Connection, query: str, *values: float) -> int:
    row = await (await connection.execute(server.text(query), values)).fetchone()
    return int(row[0]) if row is not None else 0


def newest_versions() -> TableVersions:
    """Return the versions that this program creates; raises `ConfigError` without Procrastinate."""
    return TableVersions(len(migrations()), queue_scripts()[1][-1].stem)
