"""What single operations of a journal on PostgreSQL cost, by the number of entries that it holds."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from statistics import median

from bench.postgres.fill import count
from bench.postgres.server import Server
from bench.processes import cpu_seconds
from bridle.core.events import Entry
from bridle.core.inbox import PromptItem
from bridle.journal.journal import Lease, SessionQuery
from bridle.journal.postgres import PostgresJournal
from bridle.journal.worker_overview import overview

SCANNED = "SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_user_tables WHERE schemaname = 'bridle'"
UNDO = [
    "DELETE FROM bridle.inbox WHERE item IS NOT NULL",
    "UPDATE bridle.session SET wanted = NULL WHERE wanted > '-infinity'",
]
PATIENCE_SECONDS = 2.0
PAGE_ROWS = 50


@dataclass(frozen=True)
class Cost:
    """What one call took."""

    milliseconds: float
    """The median."""
    server: float
    """CPU milliseconds of the server."""
    scanned: float
    """Rows that were read because a table was read whole."""


class Chosen:
    """A journal, and sessions of it chosen at random."""

    def __init__(self, journal: PostgresJournal, sessions: list[str]) -> None:
        self.journal = journal
        self._sessions = sessions
        self._random = random.Random(1)
        self._lease: tuple[Lease, int] | None = None

    def session(self) -> str:
        return self._random.choice(self._sessions)

    async def append(self) -> None:
        """Append an entry to one session."""
        if self._lease is None:
            lease = None
            while lease is None:
                lease = await self.journal.acquire(self.session())
            self._lease = lease, len(await self.journal.load(lease.session))
        lease, sequence = self._lease
        self._lease = lease, sequence + 1
        await self.journal.append(lease, Entry(sequence + 1, time.time(), 0.0, ()))

    async def load(self) -> None:
        await self.journal.load(self.session())

    async def lease(self) -> None:
        lease = await self.journal.acquire(self.session())
        if lease is not None:
            await self.journal.release(lease)

    async def mark(self) -> None:
        await self.journal.changed(self.session(), 0)

    async def submit(self) -> None:
        await self.journal.submit(self.session(), PromptItem(f"prm_{self._random.random()}", "Look."))

    async def sweep(self) -> None:
        await self.journal.wakes.sweep(PATIENCE_SECONDS)

    async def workers(self) -> None:
        await overview(self.journal)

    async def holding(self) -> None:
        await self.journal.holding("")

    async def list_some(self) -> None:
        await self.journal.sessions(SessionQuery(limit=PAGE_ROWS))

    async def list_all(self) -> None:
        await self.journal.sessions()


Operation = Callable[[Chosen], Awaitable[None]]

OPERATIONS: dict[str, tuple[Operation, int]] = {
    "append an entry, one at a time": (Chosen.append, 1_000),
    "load a session": (Chosen.load, 300),
    "take and release a lease": (Chosen.lease, 300),
    "look whether a session has changed": (Chosen.mark, 300),
    "submit a prompt": (Chosen.submit, 300),
    "sweep": (Chosen.sweep, 30),
    "list workers and waiting sessions": (Chosen.workers, 10),
    "find the reservations of all sessions": (Chosen.holding, 5),
    "list the last 50 sessions": (Chosen.list_some, 10),
    "list all sessions": (Chosen.list_all, 3),
}
"""Each with the number of its calls."""


async def costs(server: Server, address: str, sessions: list[str], share: float) -> dict[str, Cost]:
    """Measure all operations, each with a journal of its own and with this share of its calls."""
    return {
        name: await _cost(server, address, sessions, (operation, max(1, int(times * share))))
        for name, (operation, times) in OPERATIONS.items()
    }


async def _cost(server: Server, address: str, sessions: list[str], work: tuple[Operation, int]) -> Cost:
    operation, times = work
    before = _scanned(server, address)
    journal = PostgresJournal(address)
    chosen, took = Chosen(journal, sessions), []
    try:
        await journal.wakes.ready()
        # Connections and prepared statements are made.
        for _ in range(min(times, 10)):
            await operation(chosen)
        cpu = cpu_seconds(server.process)
        for _ in range(times):
            began = time.perf_counter()
            await operation(chosen)
            took.append(time.perf_counter() - began)
        cpu = cpu_seconds(server.process) - cpu
    finally:
        await journal.close()
    with server.connected(address) as connection:
        for query in UNDO:
            connection.execute(query.encode())
    calls = times + min(times, 10)
    return Cost(median(took) * 1000, cpu / times * 1000, (_scanned(server, address) - before) / calls)


def _scanned(server: Server, address: str) -> int:
    # A process of the server tells its numbers at the latest when it ends.
    with server.connected(address) as connection:
        return count(connection, SCANNED)
