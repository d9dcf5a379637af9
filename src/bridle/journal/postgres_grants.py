"""`grant_data_rights`: lets a role work with the data of a journal on PostgreSQL; also lists rights that it lacks."""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
from psycopg import sql

from bridle.errors import ConfigError
from bridle.journal.postgres_server import Connection, Server

TABLES: Mapping[str, tuple[str, ...]] = {
    "version": ("SELECT",),
    "worker": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "session": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "entry": ("SELECT", "INSERT", "DELETE"),
    "inbox": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "account": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "owner": ("SELECT", "INSERT", "UPDATE"),
    "budget": ("SELECT", "INSERT"),
    "access_grant": ("SELECT", "INSERT", "DELETE"),
    "served_turn": ("SELECT", "INSERT", "UPDATE", "DELETE"),
}
"""The rights that commands, programs and workers use. None of them changes or drops a table."""
DATA = ("SELECT", "INSERT", "UPDATE", "DELETE")
QUEUE = "_queue"
QUEUE_TABLES = "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = %s ORDER BY tablename"
ROLE = """
    SELECT current_database(), has_database_privilege(oid, current_database(), 'CONNECT')
    FROM pg_catalog.pg_roles WHERE rolname = %s
"""
LACKS = """
    SELECT wanted.name || ': ' || wanted.privilege FROM unnest(%s::text[], %s::text[]) AS wanted (name, privilege)
    WHERE NOT has_table_privilege(wanted.name, wanted.privilege)
"""
SCHEMAS = """
    SELECT n.nspname FROM pg_catalog.pg_namespace AS n
    WHERE n.nspname = ANY (%s) AND NOT has_schema_privilege(n.oid, 'USAGE')
"""


async def data_grants(server: Server, connection: Connection, role: str) -> list[sql.Composed]:
    """Return the statements that let a role work with the data; raises `ConfigError` for an unknown role."""
    known = await (await connection.execute(ROLE, (role,))).fetchone()
    if known is None:
        raise ConfigError(f"{server.place}: there is no role {role!r}: create it with CREATE ROLE … LOGIN")
    to, found = sql.Identifier(role), []
    if not known[1]:
        found.append(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(sql.Identifier(known[0]), to))
    for schema in (server.schema, server.schema + QUEUE):
        name = sql.Identifier(schema)
        found.append(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(name, to))
        found.append(sql.SQL("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {} TO {}").format(name, to))
    for table, rights in TABLES.items():
        words, place = sql.SQL(", ").join(map(sql.SQL, rights)), sql.Identifier(server.schema, table)
        found.append(sql.SQL("GRANT {} ON {} TO {}").format(words, place, to))
    queue, words = sql.Identifier(server.schema + QUEUE), sql.SQL(", ").join(map(sql.SQL, DATA))
    found.append(sql.SQL("GRANT {} ON ALL TABLES IN SCHEMA {} TO {}").format(words, queue, to))
    found.append(sql.SQL("GRANT USAGE ON ALL SEQUENCES IN SCHEMA {} TO {}").format(queue, to))
    return found


async def grant_data_rights(
    server: Server, connection: Connection, role: str, *, only_print: bool = False
) -> tuple[str, ...]:
    """Let a role work with the data of a journal and its queue; return the statements. Raises `JournalError`."""
    try:
        grants = await data_grants(server, connection, role)
        if not only_print:
            async with connection.transaction():
                for grant in grants:
                    await connection.execute(grant)
        return tuple(grant.as_string(connection) for grant in grants)
    except psycopg.Error as error:
        raise server.explain(error) from error


async def lacking_rights(server: Server, connection: Connection) -> list[str]:
    """Return the rights that the role of this connection lacks, each as `TABLE: RIGHT`; empty if it has all."""
    queue = server.schema + QUEUE
    schemas = [name for (name,) in await _rows(connection, SCHEMAS, ([server.schema, queue],))]
    if schemas:
        return [f"{name}: USAGE" for name in schemas]
    wanted = [(f"{server.schema}.{table}", right) for table, rights in TABLES.items() for right in rights]
    wanted += [
        (f"{queue}.{name}", right) for (name,) in await _rows(connection, QUEUE_TABLES, (queue,)) for right in DATA
    ]
    names, rights = [name for name, _ in wanted], [right for _, right in wanted]
    return [str(words) for (words,) in await _rows(connection, LACKS, (names, rights))]


async def _rows(connection: Connection, query: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
    return list(await (await connection.execute(query.encode(), values)).fetchall())
