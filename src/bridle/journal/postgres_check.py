"""`check_server`: checks a journal on PostgreSQL without changing it: versions, rights, room, notifications, clock."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg

from bridle.core.limits import counted
from bridle.errors import JournalError
from bridle.journal.address import JournalAddress
from bridle.journal.finding import Finding, JournalNumbers
from bridle.journal.postgres_grants import lacking_rights
from bridle.journal.postgres_server import OLDEST_SERVER, Connection, Server
from bridle.journal.postgres_upkeep import TableVersions, newest_versions, table_versions
from bridle.seams import Seams

HEARD_SECONDS = 3.0
MOST_CLOCK_SECONDS = 2.0
NEARLY_FULL = 0.9
STATE = """
    SELECT current_user, pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
        current_setting('max_connections')::integer, pg_size_pretty(pg_database_size(current_database()))
"""
CLOCK = "SELECT extract(epoch FROM clock_timestamp())"
TRY_WRITE = "INSERT INTO bridle.worker (until, host) VALUES (clock_timestamp(), 'bridle database check')"
NUMBERS = """
    SELECT (SELECT count(*) FROM bridle.session), (SELECT count(*) FROM bridle.entry),
        (SELECT coalesce(sum(octet_length(events)), 0) FROM bridle.entry),
        (SELECT count(*) FROM bridle.inbox WHERE item IS NOT NULL),
        (SELECT count(*) FROM bridle.worker WHERE until > clock_timestamp())
"""
DEAD = """
    SELECT count(*) FROM bridle.worker AS w WHERE until < clock_timestamp() - interval '1 hour'
    AND NOT EXISTS (SELECT FROM bridle.session AS s WHERE s.holder = w.id)
"""


async def check_server(address: JournalAddress, seams: Seams) -> tuple[list[Finding], JournalNumbers]:
    """Return what is found; raises `JournalError` if the tables cannot be used at all."""
    server = Server(address.url, listen_url=address.listen_url, schema=address.schema)
    connection = await server.connect()
    try:
        found = [each async for each in _look(server, connection, seams)]
        numbers = JournalNumbers()
        if not any(each.level == "fault" for each in found):
            numbers = JournalNumbers(*[int(str(number)) for number in (await _rows(server, connection, NUMBERS))[0]])
            found.append(await _hears(server, connection, separate=bool(address.listen_url)))
        return found, numbers
    except psycopg.Error as error:
        raise server.explain(error) from error
    finally:
        await connection.close()


async def _rows(server: Server, connection: Connection, query: str) -> list[tuple[object, ...]]:
    return list(await (await connection.execute(server.text(query), prepare=False)).fetchall())


async def _look(server: Server, connection: Connection, seams: Seams) -> AsyncIterator[Finding]:
    have, oldest = connection.info.server_version, OLDEST_SERVER // 10_000
    if have < OLDEST_SERVER:
        yield Finding("fault", f"PostgreSQL {have // 10_000} is too old: use {oldest} or newer")
        return
    yield Finding("good", f"{server.place}: PostgreSQL {have // 10_000}.{have % 10_000}")
    yield await _clock(server, connection, seams)
    role, read_only, used, most, size = (await _rows(server, connection, STATE))[0]
    assert isinstance(used, int) and isinstance(most, int)
    words = f"{used} of {most} connections are in use, the database has {size}"
    full = used >= NEARLY_FULL * most
    yield Finding("warning" if full else "good", f"{words}: raise max_connections, or use a pool" if full else words)
    versions = await table_versions(server, connection)
    if not versions.journal:
        words = f"the schema {server.schema} has no journal: create it with `bridle database init`"
        yield Finding("fault", words)
        return
    for finding in _tables(versions):
        yield finding
    async for finding in _rights(server, connection, str(role), read_only=bool(read_only)):
        yield finding


def _tables(versions: TableVersions) -> list[Finding]:
    newest, found = newest_versions(), []
    if versions.journal < newest.journal:
        words = f"journal: schema {versions.journal} of an older release: run `bridle database migrate`"
        found.append(Finding("fault", words))
    else:
        found.append(Finding("good", f"journal: schema {versions.journal} is up to date"))
    if not versions.queue:
        words = "queue: there are no tables yet: run `bridle database init` before workers are started"
        found.append(Finding("warning", words))
    elif versions.queue < newest.queue:
        words = f"queue: schema {versions.queue} of an older release: run `bridle database migrate`"
        found.append(Finding("fault", words))
    else:
        found.append(Finding("good", f"queue: schema {versions.queue} is up to date"))
    return found


async def _rights(server: Server, connection: Connection, role: str, *, read_only: bool) -> AsyncIterator[Finding]:
    if read_only:
        yield Finding("fault", "the server is read-only: set journal.url to the address of the primary")
        return
    if lacks := await lacking_rights(server, connection):
        words = ", ".join(lacks[:3]) + (f" and {len(lacks) - 3} more" if len(lacks) > 3 else "")
        way = f"run `bridle database init --role {role}` as the owner of the tables"
        yield Finding("fault", f"the role {role} lacks rights ({words}): {way}")
        return
    try:
        async with connection.transaction(force_rollback=True):
            await connection.execute(server.text(TRY_WRITE), prepare=False)
    except psycopg.Error as error:
        yield Finding("fault", f"nothing can be written: {server.explain(error)}")
        return
    yield Finding("good", f"the role {role} may read and write")
    dead = (await _rows(server, connection, DEAD))[0][0]
    if dead:
        yield Finding(
            "warning", f"{counted(int(str(dead)), 'row')} of dead workers: remove them with `bridle database prune`"
        )


async def _clock(server: Server, connection: Connection, seams: Seams) -> Finding:
    before = seams.clock.wall()
    there = float(str((await _rows(server, connection, CLOCK))[0][0]))
    after = seams.clock.wall()
    # The server looked at its clock at some moment between the two.
    away = max(0.0, there - after, before - there)
    if away > MOST_CLOCK_SECONDS:
        words = (
            f"the clocks of this machine and the server differ by {away:.1f} s: synchronize them, for example by NTP"
        )
        return Finding("warning", words)
    return Finding("good", f"the clocks of this machine and the server differ by less than {MOST_CLOCK_SECONDS:g} s")


async def _hears(server: Server, connection: Connection, *, separate: bool) -> Finding:
    """Listen where a journal listens, and have the other connection tell something."""
    setting = "journal.listen_url" if separate else "journal.url"
    try:
        listening = await server.connect(direct=True)
    except JournalError as error:
        return Finding("fault", f"{setting} cannot be reached: {error}")
    try:
        channel = f"{server.schema}_check"
        await listening.execute(f"LISTEN {channel}".encode())
        await connection.execute("SELECT pg_notify(%s, '')", (channel,), prepare=False)
        async for _ in listening.notifies(timeout=HEARD_SECONDS, stop_after=1):
            return Finding("good", f"notifications arrive through {setting}")
    except psycopg.Error as error:
        return Finding("fault", f"{setting} cannot be listened on: {server.explain(error)}")
    finally:
        await listening.close()
    words = f"no notification arrives through {setting}, which may lead through a pool of connections"
    return Finding("warning", f"{words}: set journal.listen_url to a direct address of the server")
