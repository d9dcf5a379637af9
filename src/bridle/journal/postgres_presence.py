"""`Presence`: the identity of a process at a PostgreSQL journal; its leases last as long as its heartbeat."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from bridle.errors import JournalError
from bridle.journal.postgres_server import Connection, Server, answered
from bridle.process.lifelines import Lifelines
from bridle.seams import Clock, begin

LOG = logging.getLogger(__name__)
ARRIVE = """
    INSERT INTO bridle.worker (until, host, process, queues)
    VALUES (clock_timestamp() + make_interval(secs => %s), %s, %s, %s) RETURNING id
"""
BEAT = """
    UPDATE bridle.worker SET until = clock_timestamp() + make_interval(secs => %s)
    WHERE id = %s AND until > clock_timestamp() RETURNING id
"""
LEAVE = """
    WITH freed AS (
        UPDATE bridle.session SET holder = NULL, wanted = coalesce(wanted, clock_timestamp()) WHERE holder = %(me)s
    )
    DELETE FROM bridle.worker WHERE id = %(me)s
"""


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """How long leases last without a heartbeat, its period, and when a holder gives them up by itself."""

    lease_seconds: float = 15.0
    heartbeat_seconds: float = 5.0
    deadline_seconds: float = 10.0
    """Counted from the moment at which the last successful heartbeat was sent; effects must end before the lease."""
    answer_seconds: float = 3.0
    supervisor_seconds: float = 8.0
    """How long a command runs on without a signal of its holder, which may be frozen."""

    @property
    def gone_seconds(self) -> float:
        """When the commands of a holder are gone, counted like its deadline: well before the lease ends."""
        return self.deadline_seconds + (self.lease_seconds - self.deadline_seconds) * 0.4


class Presence:
    """One identity, from its arrival until a heartbeat comes too late. It never comes back: a new one is made then."""

    def __init__(self, server: Server, times: LeaseTimes, clock: Clock, queues: Sequence[str] = ()) -> None:
        self._server = server
        self._queues = list(queues)
        self._times = times
        self._clock = clock
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._good = 0.0
        self.id = 0
        self.lifelines = Lifelines(self._commands_until, times.supervisor_seconds / 4)
        self._lost = False

    async def arrive(self) -> None:
        """Take an identity, and keep it alive; raises `JournalError`."""
        self._connection = connection = await self._server.connect()
        sent = self._clock.since_boot()
        about = (self._times.lease_seconds, os.uname().nodename, os.getpid(), self._queues)

        async def arrive() -> int:
            row = await (await connection.execute(self._server.text(ARRIVE), about)).fetchone()
            assert row is not None
            return int(row[0])

        try:
            self.id, self._good = await answered(arrive(), self._times.deadline_seconds), sent
        except (psycopg.Error, TimeoutError) as error:
            await self._disconnect()
            words = error if isinstance(error, psycopg.Error) else psycopg.OperationalError(str(error))
            raise self._server.explain(words) from error
        self._task = begin(self._beat())

    @property
    def seconds_left(self) -> float:
        """The time until the leases must no longer be used, if no heartbeat succeeds meanwhile."""
        return self._good + self._times.deadline_seconds - self._clock.since_boot()

    @property
    def there(self) -> bool:
        """Whether the leases of this identity may be used now; looked at first after any wait."""
        if self.seconds_left <= 0:
            self._lost = True
        return not self._lost

    def _commands_until(self) -> float:
        """Return until when commands may run if nothing is heard from this process any more."""
        return min(self._clock.since_boot() + self._times.supervisor_seconds, self._good + self._times.gone_seconds)

    async def _beat(self) -> None:
        while self.there:
            await asyncio.sleep(max(0.0, min(self._times.heartbeat_seconds, self.seconds_left)))
            sent = self._clock.since_boot()
            try:
                alive = await answered(self._renew(), self._times.answer_seconds)
            except (psycopg.Error, JournalError, TimeoutError) as error:
                LOG.warning("a heartbeat of this process failed: %s", error)
                await self._disconnect()
                await asyncio.sleep(min(1.0, self._times.heartbeat_seconds / 5))
                continue
            if not alive:
                LOG.warning("the leases of this process have run out")
                self._lost = True
                return
            self._good = sent

    async def _renew(self) -> bool:
        if self._connection is None:
            self._connection = await self._server.connect()
        cursor = await self._connection.execute(self._server.text(BEAT), (self._times.lease_seconds, self.id))
        return await cursor.fetchone() is not None

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def leave(self) -> None:
        """Free all leases of this identity. May be called twice."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._connection is not None and self.id:
            query = self._connection.execute(self._server.text(LEAVE), {"me": self.id})
            try:
                await answered(query, self._times.answer_seconds)
            except (psycopg.Error, TimeoutError) as error:
                # The leases end by themselves.
                LOG.warning("the leases of this process could not be freed: %s", error)
        await self._disconnect()
