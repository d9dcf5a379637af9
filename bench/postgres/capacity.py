"""Measures a journal on PostgreSQL as it grows: sizes, operations, whole sessions, vacuum, several processes."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from bench.postgres.contest import OURS, finish, start
from bench.postgres.fill import TABLES, Filler, count, run_patterns
from bench.postgres.operations import Cost, costs
from bench.postgres.server import Server

MOST_ASKED = 2_000
"""Sessions from which operations choose."""
RATE_STEPS = 10
SIZES = "SELECT pg_table_size('bridle.{0}'), pg_indexes_size('bridle.{0}')"
HOT = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE schemaname = 'bridle' AND relname = '{0}'"


@dataclass(frozen=True)
class Effort:
    """How much is done."""

    entries: Sequence[int]
    """The sizes of the journal."""
    sessions: int = 200
    """Sessions that one process drives at once."""
    processes: Sequence[int] = (1, 2, 4)
    shared: int = 50
    """Sessions that each of several processes drives at once."""
    calls: float = 1.0
    """The share of the calls of each operation."""


@dataclass(frozen=True)
class Table:
    """How large a table is, in bytes."""

    rows: int
    bytes: int
    indexes: int


@dataclass(frozen=True)
class Rate:
    """What whole sessions took; CPU in milliseconds for a step."""

    steps_a_second: float
    client: float
    server: float


@dataclass(frozen=True, kw_only=True)
class Size:
    """A journal of one size."""

    tables: dict[str, Table]
    costs: dict[str, Cost]
    rate: Rate
    vacuum: dict[str, float]
    """Seconds for a table after it was filled."""
    again: dict[str, float]
    """Seconds after sessions were driven."""

    @property
    def entries(self) -> int:
        return self.tables["entry"].rows

    @property
    def sessions(self) -> int:
        return self.tables["session"].rows

    @property
    def bytes(self) -> int:
        return sum(table.bytes + table.indexes for table in self.tables.values())


@dataclass
class Growth:
    """The same journal as it grows, and what several processes do on a small one."""

    effort: Effort
    sizes: list[Size] = field(default_factory=list)
    hot: dict[str, float] = field(default_factory=dict)
    """The share of updates that touch no index."""
    processes: dict[int, Rate] = field(default_factory=dict)


def said(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def grown(server: Server, effort: Effort) -> Growth:
    """Fill a journal to each size, and measure it."""
    growth = Growth(effort)
    with server.database() as address, tempfile.TemporaryDirectory(prefix="bridle-bench-") as folder:
        asyncio.run(run_patterns(address, Path(folder)))
        filler = Filler(server, address)
        for wanted in effort.entries:
            filler.grow(wanted)
            said(f"{filler.entries:,} entries are there")
            growth.sizes.append(measured(server, address, effort))
        with server.connected(address) as connection:
            for name in ("session", "account"):
                row = connection.execute(HOT.format(name).encode()).fetchone()
                updates, hot = (int(str(each)) for each in row or (0, 0))
                growth.hot[name] = hot / max(1, updates)
    for processes in effort.processes:
        with server.database() as address:
            growth.processes[processes] = rate(server, address, processes, effort.shared)
    return growth


def measured(server: Server, address: str, effort: Effort) -> Size:
    """Measure the journal as it is now."""
    vacuumed = vacuum(server, address)
    with server.connected(address) as connection:
        query = "SELECT id FROM bridle.session WHERE sequence > 1 ORDER BY random() LIMIT %s"
        sessions = [str(id) for (id,) in connection.execute(query.encode(), (MOST_ASKED,))]
        tables = {name: table(connection, name) for name in TABLES}
    found = asyncio.run(costs(server, address, sessions, effort.calls))
    driven = rate(server, address, 1, effort.sessions)
    return Size(tables=tables, costs=found, rate=driven, vacuum=vacuumed, again=vacuum(server, address))


def table(connection: psycopg.Connection[tuple[object, ...]], name: str) -> Table:
    """Return the size of a table."""
    row = connection.execute(SIZES.format(name).encode()).fetchone()
    size, indexes = (int(str(each)) for each in row or (0, 0))
    return Table(count(connection, f"SELECT count(*) FROM bridle.{name}"), size, indexes)


def vacuum(server: Server, address: str) -> dict[str, float]:
    """Vacuum and analyze each table, and return the seconds that it took."""
    took = {}
    with server.connected(address) as connection:
        for name in TABLES:
            began = time.monotonic()
            connection.execute(f"VACUUM (ANALYZE) bridle.{name}".encode())
            took[name] = time.monotonic() - began
    return took


def rate(server: Server, address: str, processes: int, at_once: int) -> Rate:
    """Drive sessions in some processes at once; what the server takes is shared among them."""
    running = [
        start(OURS[0], server, address, steps=RATE_STEPS, sessions=at_once, at_once=at_once) for _ in range(processes)
    ]
    reports = [finish(each) for each in running]
    steps = sum(report["steps"] for report in reports)
    # Each has seen the server's CPU for all of them.
    server_cpu = max(report["server"] for report in reports)
    client = sum(report["client"] for report in reports)
    seconds = max(report["seconds"] for report in reports)
    return Rate(steps / seconds, client / steps * 1000, server_cpu / steps * 1000)
