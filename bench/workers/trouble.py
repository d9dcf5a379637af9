"""`Trouble`: what befalls the workers and the server of a run, by the second, and what was seen after it."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial

from bench.workers.database import Database, Proxy
from bench.workers.fleet import Fleet
from bridle.errors import JournalError
from bridle.journal.postgres import PostgresJournal

FREEZE_SECONDS = 30.0
CUT_SECONDS = 20.0
ARRIVE_SECONDS = 60.0
AGAIN_SECONDS = 0.2
AUDIT = """
    CREATE TABLE bridle.audit (holder bigint, at timestamptz);
    CREATE FUNCTION bridle.audited() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO bridle.audit VALUES (NEW.holder, clock_timestamp());
        RETURN NULL;
    END $$;
    CREATE TRIGGER audited AFTER UPDATE OF sequence ON bridle.session
        FOR EACH ROW WHEN (NEW.sequence <> OLD.sequence) EXECUTE FUNCTION bridle.audited();
"""
IDENTITIES = "SELECT id FROM bridle.worker WHERE process = %s"
LATE = "SELECT count(*) FROM bridle.audit WHERE holder = ANY (%s) AND at > %s"
Event = tuple[float, Callable[[], Awaitable[None]]]


class Trouble:
    """The events of one run."""

    def __init__(self, database: Database, fleet: Fleet, proxy: Proxy, journal: PostgresJournal) -> None:
        self._database = database
        self._fleet = fleet
        self._proxy = proxy
        self._journal = journal
        self._began = time.monotonic()
        self.log: list[str] = []
        self.problems: list[str] = []

    def _tell(self, words: str) -> None:
        self.log.append(f"{time.monotonic() - self._began:.0f} s: {words}")
        print(self.log[-1], file=sys.stderr, flush=True)

    async def watch(self) -> None:
        """Have the server note under which identity each entry was recorded."""
        for statement in AUDIT.split(";\n    C"):
            await self._journal.rows(statement if statement.strip().startswith("C") else f"C{statement}")

    async def befall(self, events: list[Event]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for at, event in events:
                tasks.create_task(self._later(at, event))

    async def _later(self, at: float, event: Callable[[], Awaitable[None]]) -> None:
        await asyncio.sleep(at)
        await event()

    async def kill(self, number: int) -> None:
        pid = self._fleet.kill(number)
        self._fleet.replace(number)
        self._tell(f"worker {number} (process {pid}) was killed, and another started")

    async def restart_server(self) -> None:
        await asyncio.to_thread(self._database.restart_at_once)
        self._tell("PostgreSQL was restarted at once, without a shutdown of its sessions")

    async def cut(self, how: Callable[[], None], words: str) -> None:
        how()
        self._tell(f"the connections of worker {len(self._fleet.workers) - 1} {words}")
        await asyncio.sleep(CUT_SECONDS)
        self._proxy.mend()
        self._tell("they are mended")

    async def freeze(self, number: int) -> None:
        """Stop a worker for longer than its lease; afterwards nothing may be recorded under its old identities."""
        pid = self._fleet.tell(number, signal.SIGSTOP)
        old = [id for (id,) in await self._journal.rows(IDENTITIES, (pid,))]
        self._tell(f"worker {number} (process {pid}) was stopped")
        await asyncio.sleep(FREEZE_SECONDS)
        ((thawed,),) = await self._journal.rows("SELECT clock_timestamp()")
        self._fleet.tell(number, signal.SIGCONT)
        async with asyncio.timeout(ARRIVE_SECONDS):
            while True:
                try:
                    if any(id not in old for (id,) in await self._journal.rows(IDENTITIES, (pid,))):
                        break
                except JournalError:
                    # The server may be restarting.
                    pass
                await asyncio.sleep(AGAIN_SECONDS)
        ((late,),) = await self._journal.rows(LATE, (old, thawed))
        self._tell(f"worker {number} went on; {late} entries under its old identity since, and it has a new one")
        if late:
            self.problems.append(f"{late} entries were recorded under an identity that had run out")

    def long(self, kills: int, apart: float) -> list[Event]:
        """A kill every so often; the others fall between. The last worker is behind the proxy, and is not killed."""
        killed = [1, 2, 1, 2, 0, 1, 2, 0]
        events: list[Event] = [(apart * (at + 1), partial(self.kill, killed[at % 8])) for at in range(kills)]
        return [
            *events,
            (apart * 1.6, partial(self.freeze, 0)),
            (apart * 4.3, self.restart_server),
            (apart * 4.6, partial(self.cut, self._proxy.mute, "pass nothing on")),
            (apart * 5.8, partial(self.cut, self._proxy.cut, "are cut and refused")),
        ]

    def short(self, kills: int, apart: float) -> list[Event]:
        return [(apart * (at + 1), partial(self.kill, at % 3)) for at in range(kills)]
