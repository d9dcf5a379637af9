"""What a PostgreSQL server holds of a world: the real journal of each process on the model of its server."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import psycopg
from support.cut_process import Cutter, World, note_ended

from bridle.core.events import Entry
from bridle.core.inbox import AbortItem, InboxItem
from bridle.core.ledger import Account, AccountChange, BudgetRefused, post
from bridle.engine.worker import POLL_SECONDS, SWEEP_SECONDS
from bridle.journal import postgres_commits as commits, postgres_queries as queries
from bridle.journal.journal import Lease, Wake, Weight
from bridle.journal.postgres import PostgresJournal
from bridle.journal.postgres_pool import MOST_CONNECTIONS
from bridle.journal.postgres_presence import LeaseTimes
from bridle.seams import Seams
from bridle.wire import entries as wire
from sim.disks import Disk, Kept
from sim.plan import Plan
from sim.server_link import Heard, ModelConnection, ModelPool, ModelServer
from sim.server_loop import Process
from sim.server_tables import SessionLine, Tables

TIMES = LeaseTimes(
    lease_seconds=3.0, heartbeat_seconds=1.0, deadline_seconds=2.0, answer_seconds=1.0, supervisor_seconds=1.6
)
LATEST_SECONDS = TIMES.lease_seconds + SWEEP_SECONDS[1] + POLL_SECONDS + 1.0
"""When a session whose worker has died is with another, where nothing else goes wrong."""
HEARD_SECONDS, LOOKED_SECONDS = 0.5, 6.0
"""When the holder of a session takes an abort: told by the server, or by looking again."""
THAWED_SECONDS = 1.0
"""What the effects of a process that was frozen may take to end."""


class Ledger(dict[str, Account]):
    """The accounts at one moment, and how often the server had been restarted by then."""

    generation = 0


class ServerDisk(Disk):
    """The server of a world, and what its processes did there."""

    def __init__(self, plan: Plan, world: World) -> None:
        super().__init__(plan)
        assert plan.service is not None
        self.world = world
        crashes = any(trouble.kind == "restarted" for trouble in plan.service.troubles)
        self.server = ModelServer(plan.seed, deaf=plan.service.deaf, crashes=crashes)
        self.server.watch = self._heard
        self.server.conflicts = plan.service.conflicts
        self.running: list[tuple[Process, str]] = []
        """Each call that runs now, by its process and session."""
        self.overlaps: list[str] = []
        self.refused_wrongly: list[str] = []
        self.left_behind: list[str] = []
        self.late: list[str] = []
        self.unheard: list[str] = []
        self._aborts: dict[str, tuple[float, int | None]] = {}
        """When the holders of sessions were asked to abort, by the item."""
        self._deaths = 0
        self._orphans: dict[str, tuple[float, int]] = {}
        """Since when sessions of dead processes have waited for another, and how many had died by then."""
        self._history: list[dict[str, tuple[int, bool, bytes]]] = [{}]

    def journal(self, seams: Seams, cutter: Cutter, process: Process) -> ServedJournal:
        return ServedJournal(self, seams, cutter, process)

    def _heard(self, heard: Heard) -> None:
        if heard.query == commits.APPEND and not heard.rows:
            self._appended(heard)
        elif heard.query == queries.SUBMIT and heard.rows and isinstance(wire.decode_item(heard.values[2]), AbortItem):
            line = self.server.tables.sessions[heard.rows[0][0]]
            self._aborts[heard.values[1]] = (self.server.loop.time(), line.holder)
        elif heard.query == queries.ACQUIRE and heard.rows:
            session = heard.values[0]
            active = self._active(session, heard)
            self.overlaps += [f"{session} was taken while {process.name} ran a call" for process in active]
            self._taken(session)

    def _taken(self, session: str) -> None:
        since, deaths = self._orphans.pop(session, (0.0, -1))
        service = self.plan.service
        assert service is not None
        # A sweep may fall to a worker that dies too, or be asked for once more.
        if deaths == self._deaths and service.calm and not service.conflicts:
            waited = self.server.loop.time() - since
            self.plan.seen["server: a session was taken over"] += 1
            if waited > LATEST_SECONDS:
                self.late.append(f"{session} was taken over after {waited:.1f} s")

    def _active(self, session: str, heard: Heard) -> list[Process]:
        """Other processes that run a call of this session, and should have ended it."""
        now = self.server.loop.time()
        return [
            process
            for process, running in self.running
            if running == session
            and process is not heard.process
            and not process.dead
            # No process can end what it does while it is frozen; commands have supervisors for that.
            and process.frozen_until + THAWED_SECONDS < now
        ]

    def _appended(self, heard: Heard) -> None:
        accounts = self.server.tables.accounts
        self._history.append(dict(accounts))
        for number, item in zip(heard.values[21], heard.values[22], strict=True):
            self._answered(item, self.server.tables.sessions[number].holder)
        sessions, ids = heard.values[4], heard.values[15]
        for id in ids if len(sessions) == 1 else ():
            before, after = heard.before.get(id), wire.decode_account(accounts[id][2])
            if before is None or wire.decode_account(before[2]).reserved.tokens < after.reserved.tokens:
                self._fits(after)

    def _answered(self, item: str, holder: int | None) -> None:
        since, asked = self._aborts.pop(item, (0.0, None))
        service = self.plan.service
        assert service is not None
        if asked is not None and asked == holder and service.calm:
            waited = self.server.loop.time() - since
            self.plan.seen["server: a holder was asked to abort"] += 1
            if waited > (HEARD_SECONDS if service.deaf == 0.0 else LOOKED_SECONDS):
                self.unheard.append(f"{item} was taken after {waited:.1f} s")

    async def refused(self, change: AccountChange, since: int) -> None:
        """Note a refusal that no state of the ledger since then calls for."""
        for accounts in self._history[since:]:
            known = {id: wire.decode_account(body) for id, (version, _, body) in accounts.items() if version}
            try:
                post(change, known.get, lambda owner: None)
            except BudgetRefused:
                return
        self.refused_wrongly.append(f"{change.account} was refused {change.reserves}")

    @property
    def moment(self) -> int:
        return len(self._history) - 1

    def died(self, process: Process) -> None:
        """A worker is gone: what it held must be taken over."""
        process.dead = True
        self._note_ended()
        self.server.loop.beside(0.01, self.server.cut, lambda one: one.process is process)

    def orphaned(self, sessions: Sequence[str]) -> None:
        self._deaths += 1
        self._orphans.update(dict.fromkeys(sessions, (self.server.loop.time(), self._deaths)))

    def crash(self, seconds: float) -> None:
        """The server ends at once; what was promised must be there afterwards, what was only published may be gone."""
        lost = self.server.crash(seconds)
        self.plan.seen["server: restarted, and something was lost"] += lost
        self._history.append(dict(self.server.tables.accounts))
        tables = self.server.tables
        there = {(line.id, number) for line in tables.sessions.values() for number in line.entries}
        items = {(line.id, item) for line in tables.sessions.values() for item in line.inbox}
        self.lost += [one for one in self.promised if one not in there]
        self.lost += [one for one in self.submitted if one not in items]
        self.published = [one for one in self.published if one[:2] in there]
        self._note_ended()

    def _note_ended(self) -> None:
        self.world.ended.clear()
        note_ended({id: kept.entries for id, kept in self.kept().items()}, self.world)

    def kept(self) -> dict[str, Kept]:
        tables = self.server.tables
        return {line.id: Kept(_entries(line), tables.items(line), line.epoch) for line in tables.sessions.values()}

    def accounts(self) -> dict[str, Account]:
        found = Ledger(self.server.tables.ledger())
        found.generation = self.server.generation
        return found

    def compare(self, before: dict[str, Account]) -> None:
        # A crash of the server undoes what no disk had, also what was spent.
        if isinstance(before, Ledger) and before.generation == self.server.generation:
            super().compare(before)

    def names(self) -> list[str]:
        return sorted(self.server.tables.numbers)

    def busy(self) -> list[str]:
        """What is held, waits to be looked at, or is queued."""
        tables: Tables = self.server.tables
        found = [f"{line.id} is held" for line in tables.sessions.values() if line.holder is not None]
        found += [f"{line.id} is wanted" for line in tables.sessions.values() if line.wanted is not None]
        return found + [f"a job of {job.session}" for job in tables.jobs]

    async def write(self, journal: Any, work: Callable[[], Coroutine[Any, Any, Any]], *, ending: bool) -> Any:
        return await work()


def _entries(line: SessionLine) -> list[Entry]:
    rows = sorted(line.entries.items())
    return [Entry(number, at, elapsed, wire.decode_events(events)) for number, (at, elapsed, events) in rows]


class ServedJournal(PostgresJournal):
    """The journal of one process, which may die before and after each write."""

    def __init__(self, disk: ServerDisk, seams: Seams, cutter: Cutter, process: Process) -> None:
        super().__init__("postgresql://server.invalid/bridle", seams=seams, times=TIMES)
        server: Any = self.server
        server.connect = self._connect
        pool: Any = self._pool
        pool._pool = ModelPool(disk.server, process, MOST_CONNECTIONS)
        self.wakes._prepared = True
        self._disk = disk
        self._cutter = cutter
        self._process = process

    async def _connect(self, *, direct: bool = False) -> ModelConnection:
        try:
            return await self._disk.server.connect(self._process)
        except psycopg.Error as error:
            raise self.server.explain(error) from error

    async def append(
        self,
        lease: Lease,
        entry: Entry,
        *,
        change: AccountChange | None = None,
        take: Sequence[str] = (),
        weight: Weight = "plain",
        before: Sequence[Entry] = (),
    ) -> None:
        disk, accounts, since = self._disk, self._disk.accounts() if change is not None else {}, self._disk.moment
        await self._cutter.point("append before")
        try:
            await super().append(lease, entry, change=change, take=take, weight=weight, before=before)
        except BudgetRefused:
            assert change is not None
            await disk.refused(change, since)
            raise
        disk.written += [(lease.session, one.sequence) for one in (*before, entry)]
        if weight in ("intent", "ending"):
            disk.promised.append((lease.session, entry.sequence))
        if change is not None:
            disk.compare(accounts)
        await self._cutter.point("append after")

    async def submit(self, session: str, item: InboxItem, *, wake: Wake | None = None) -> bool:
        await self._cutter.point("submit before")
        fresh = await super().submit(session, item, wake=wake)
        self._disk.submitted.append((session, item.id))
        await self._cutter.point("submit after")
        return fresh

    async def acquire(self, session: str) -> Lease | None:
        await self._cutter.point("acquire before")
        lease = await super().acquire(session)
        await self._cutter.point("acquire after")
        return lease

    async def release(self, lease: Lease) -> None:
        await self._cutter.point("release before")
        await super().release(lease)
