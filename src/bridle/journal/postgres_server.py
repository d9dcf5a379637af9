"""`Server`: connects a journal to its PostgreSQL server, migrates its tables, and explains the server's errors."""

from __future__ import annotations

import asyncio
import re
import select
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo
from psycopg_pool import AsyncConnectionPool

from bridle.errors import ConfigError, JournalError, JournalFailed, JournalFull, JournalRefused
from bridle.seams import begin

OLDEST_SERVER = 140_000
CONNECT_SECONDS = 10
KEEPALIVES = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
"""A connection that only listens notices within half a minute that the other end is gone."""
MIGRATION_LOCK = 0x42726964
"""The advisory lock under which one process at a time creates or migrates the tables."""
SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,40}")
SCHEMA = re.compile(r"\bbridle(?=_queue\b|\b)")
"""The schema as queries and scripts name it, also at the beginning of the name of the schema with the wakes."""
QUOTED = re.compile(r'"([^"]+)"')
NO_ROOM, READ_ONLY, NO_RIGHT = "53", "25006", "42501"
THERE = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'version'"
NO_TABLES = ("42P01", "42704", "42883", "3F000")

Found = TypeVar("Found")
Connection = AsyncConnection[tuple[Any, ...]]
"""A connection whose rows are tuples."""


def migrations() -> list[Path]:
    """Return the scripts that create and change the tables, in the order of their versions."""
    return sorted((Path(__file__).parent / "postgres_migrations").glob("*.sql"))


class Server:
    """The server of one journal, and the schema that holds its tables."""

    def __init__(self, url: str, *, listen_url: str = "", schema: str = "bridle") -> None:
        if not SCHEMA_NAME.fullmatch(schema):
            raise ConfigError(f"journal.schema must be lower-case letters, digits and _, not {schema!r}")
        self.schema = schema
        self.channel = f"{schema}_changes"
        """The channel on which appends and inbox items are announced."""
        given, direct = _read_address("journal.url", url), _read_address("journal.listen_url", listen_url or url)
        self.place = _place(given)
        """The server and the database without user and password, for messages."""
        defaults = {"connect_timeout": CONNECT_SECONDS, "application_name": "bridle", **KEEPALIVES}
        self.conninfo = make_conninfo("", **{**defaults, **given})
        self.direct = make_conninfo("", **{**defaults, **direct})
        self.prepares = 5 if not listen_url else None
        """Uses after which a query is prepared: a pool of connections between Bridle and the server keeps none."""
        self._texts: dict[str, bytes] = {}
        self.listens = True
        """Whether there is a direct way to the server, on which notifications arrive."""

    def text(self, query: str) -> bytes:
        """Return a query or a script, with its names in the schema of this journal."""
        text = self._texts.get(query)
        if text is None:
            text = self._texts[query] = SCHEMA.sub(self.schema, query).encode()
        return text

    async def connect(self, *, direct: bool = False) -> Connection:
        """Return a new connection in autocommit mode, `direct` past a pool of connections; raises `JournalError`."""
        try:
            address = self.direct if direct else self.conninfo
            return await AsyncConnection.connect(address, autocommit=True, prepare_threshold=self.prepares)
        except psycopg.Error as error:
            raise self.explain(error) from error

    async def prepare(self, connection: Connection) -> None:
        """Check the versions of server and tables, and create or migrate the tables; raises `JournalError`."""
        have = connection.info.server_version
        if have < OLDEST_SERVER:
            raise JournalRefused(
                f"{self.place}: PostgreSQL {have // 10_000} is too old: Bridle needs {OLDEST_SERVER // 10_000} or newer"
            )
        try:
            if await is_pooled(connection):
                self.prepares, self.listens = None, self.direct != self.conninfo
            if await self.version(connection) < len(migrations()):
                async with connection.transaction():
                    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
                    await self._migrate(connection, await self.version(connection))
        except psycopg.Error as error:
            raise self.explain(error) from error

    async def version(self, connection: Connection) -> int:
        """Return the version of the tables, 0 if there are none; raises `JournalRefused` if this program is too old."""
        # Read as a table: a lookup by name remembers what was missing before another process made it.
        cursor = await connection.execute(THERE, (self.schema,))
        if await cursor.fetchone() is None:
            return 0
        row = await (await connection.execute(self.text("SELECT number, needs FROM bridle.version"))).fetchone()
        number, needs = row or (0, 0)
        if needs > len(migrations()):
            raise JournalRefused(
                f"{self.place}: the journal belongs to a newer Bridle (schema {number}): update Bridle to use it"
            )
        return int(number)

    async def _migrate(self, connection: Connection, version: int) -> None:
        for script in migrations()[version:]:
            await connection.execute(self.text(script.read_text()))

    def explain(self, error: psycopg.Error) -> JournalError:
        """Return the `JournalError` for an error of the server or the connection."""
        code, words = error.sqlstate or "", _line(error)
        if code.startswith(NO_ROOM):
            return JournalFull(f"{self.place}: the server has no room left ({words})")
        if code == READ_ONLY:
            return JournalFailed(f"{self.place}: the server is read-only: give the address of the primary ({words})")
        if code == NO_RIGHT:
            return JournalFailed(
                f"{self.place}: the role of this connection lacks a right ({words}): the owner of the tables grants it "
                "with `bridle database init --role NAME`"
            )
        if code in NO_TABLES:
            return JournalRefused(
                f"{self.place}: tables of the journal are missing, or this role may not use their schema ({words}): "
                "create them with `bridle database init`, for a role with `--role NAME`"
            )
        return JournalFailed(f"{self.place}: {words or type(error).__name__}")


async def check(connection: Connection) -> None:
    """Raise `psycopg.OperationalError` for an idle connection that the server has ended; for a pool.

    The server says nothing on a sound one, so that only a connection with something to read is asked.
    """
    if not connection.closed:
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        if not poll.poll(0):
            return
    await AsyncConnectionPool.check_connection(connection)


async def is_pooled(connection: Connection) -> bool:
    """Return whether a pool such as pgbouncer hands each transaction to another process of the server."""
    row = await (await connection.execute("SELECT pg_backend_pid()")).fetchone()
    # A pool names a process of its own making when a client connects.
    return row is not None and row[0] != connection.info.backend_pid


async def answered(work: Coroutine[Any, Any, Found], seconds: float, *ends: asyncio.Future[Any]) -> Found:
    """Return the result of work with a server; raises `TimeoutError` if it takes longer, or once one of `ends` is done.

    It does not wait for the end of work that is cut short: a driver takes its time to give up a silent connection.
    """
    task = begin(work)
    awaited: list[asyncio.Future[Any]] = [task, *ends]
    try:
        await asyncio.wait(awaited, timeout=max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_forget)
    if not task.done():
        raise TimeoutError("no answer in time")
    return task.result()


def _forget(task: asyncio.Task[Any]) -> None:
    """Take the failure of work that is no longer awaited."""
    if not task.cancelled():
        task.exception()


def _read_address(name: str, url: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.Error as error:
        # The words may quote the password, or the whole address.
        secret = url.rpartition("@")[0]
        words = QUOTED.sub(lambda found: "…" if found[1] in secret or found[1] == url else found[0], _line(error))
        raise ConfigError(f"{name} is not a PostgreSQL address: {words}") from None


def _place(given: dict[str, Any]) -> str:
    """Return the server and the database that libpq uses: of the address, a service, or the environment."""
    if given.get("service") and not given.get("host"):
        return f"postgresql:///?service={given['service']}"
    known = {each.keyword.decode(): each.val.decode() for each in Conninfo.get_defaults() if each.val}
    host = given.get("host") or given.get("hostaddr") or known.get("host") or "localhost"
    return f"postgresql://{host}/{given.get('dbname') or known.get('dbname') or ''}"


def _line(error: psycopg.Error) -> str:
    """Return the message of an error in one line, without the server's details about a query."""
    return " ".join((error.diag.message_primary or str(error)).split())
