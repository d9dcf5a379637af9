"""An engine in this process: one task for each session that is driven."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bridle.core.events import AbortItem
from bridle.core.fold import fold
from bridle.core.session import Session
from bridle.engine.bus import Bus
from bridle.engine.engine import Parked
from bridle.errors import JournalError
from bridle.journal.journal import Journal, Lease
from bridle.seams import Seams
from bridle.turn.actions import Actions, TurnActions
from bridle.turn.loop import run_turn
from bridle.turn.record import Record
from bridle.turn.rig import Rig, TackRoom
from bridle.turn.scope import Scope
from bridle.turn.take import answerable, startable, take_inbox

MAX_KEPT_SESSIONS = 64
WATCH_AGAIN_SECONDS = 1.0


class _Drive:
    """One session under way."""

    def __init__(self) -> None:
        self.again = False
        self.held_prompts = False
        self.ended: asyncio.Event | None = None
        self.task: asyncio.Task[Parked] | None = None


class LocalEngine:
    """See `Engine`."""

    def __init__(
        self,
        journal: Journal,
        room: TackRoom,
        bus: Bus,
        seams: Seams,
        actions: Callable[[Rig], Actions] = TurnActions,
    ) -> None:
        self._journal = journal
        self._room = room
        self._bus = bus
        self._seams = seams
        self._actions = actions
        self._drives: dict[str, _Drive] = {}
        self._kept: dict[str, Session] = {}
        self._known_files: dict[str, dict[str, str]] = {}
        self._closing = False

    def wake(self, session: str, *, held_prompts: bool = False) -> None:
        if self._closing:
            return
        drive = self._drives.setdefault(session, _Drive())
        drive.again = True
        drive.held_prompts = drive.held_prompts or held_prompts
        if drive.task is None or drive.task.done():
            drive.task = asyncio.get_running_loop().create_task(self._drive(session, drive))

    async def parked(self, session: str) -> Parked:
        drive = self._drives.get(session)
        if drive is None or drive.task is None:
            return "idle"
        await asyncio.wait([drive.task])
        return drive.task.result()

    async def turn_ended(self, session: str) -> Parked | None:
        """Return once a turn has ended here, or nobody drives the session here; then it says why, as `parked`."""
        drive = self._drives.get(session)
        if drive is None or drive.task is None:
            return "idle"
        if drive.task.done():
            return drive.task.result()
        drive.ended = drive.ended or asyncio.Event()
        ended = asyncio.ensure_future(drive.ended.wait())
        await asyncio.wait([drive.task, ended], return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        return drive.task.result() if drive.task.done() else None

    def active(self) -> set[str]:
        return {id for id, drive in self._drives.items() if drive.task is not None and not drive.task.done()}

    def session(self, id: str) -> Session | None:
        """The session as the last drive here left it."""
        return self._kept.get(id)

    def stop_starting(self) -> None:
        """Start nothing any more; what runs goes on."""
        self._closing = True

    async def close(self) -> None:
        self.stop_starting()
        tasks = [drive.task for drive in self._drives.values() if drive.task is not None and not drive.task.done()]
        if tasks:
            await asyncio.wait(tasks)

    async def _drive(self, id: str, drive: _Drive) -> Parked:
        parked: Parked = "idle"
        while drive.again:
            drive.again = False
            lease = await self._journal.acquire(id)
            if lease is None:
                # Whoever holds the lease looks into the inbox before and after letting go of it.
                return "elsewhere"
            try:
                parked = await self._drive_leased(id, lease, drive)
            except BaseException:
                self._kept.pop(id, None)
                raise
            finally:
                await self._journal.release(lease)
            if not self._closing and await self._more(id, drive):
                drive.again = True
        return parked

    async def _more(self, id: str, drive: _Drive) -> bool:
        items = await self._journal.inbox(id)
        session = self._kept.get(id)
        if not items or session is None:
            return False
        return answerable(session, items) or (
            session.running is None and startable(session, items, held_prompts=drive.held_prompts) is not None
        )

    async def _load(self, id: str) -> Session:
        session = self._kept.pop(id, None) or Session()
        for entry in await self._journal.load(id, session.sequence):
            fold(session, entry)
        self._kept[id] = session
        if len(self._kept) > MAX_KEPT_SESSIONS:
            self._kept.pop(next(iter(self._kept)))
        return session

    async def _drive_leased(self, id: str, lease: Lease, drive: _Drive) -> Parked:
        session = await self._load(id)
        record = Record(session, self._journal, lease, self._seams.clock, self._bus.publish)
        while True:
            scope = Scope()
            known = self._known_files.setdefault(id, {})
            rig = Rig(record, self._room, self._seams, scope, known, drive.held_prompts)
            if session.running is None:
                await take_inbox(rig)
            if session.running is None:
                return "idle"
            drive.held_prompts = False
            watch = asyncio.get_running_loop().create_task(self._watch(rig))
            try:
                await run_turn(self._actions(rig))
            finally:
                watch.cancel()
                await asyncio.wait([watch])
            if session.running is not None:
                return "paused"
            if drive.ended is not None:
                drive.ended.set()
                drive.ended = None
            if self._closing:
                return "idle"

    async def _watch(self, rig: Rig) -> None:
        """Tell the turn when there is mail, and end the effects under way as soon as it is an abort."""
        session = rig.record.lease.session
        while True:
            try:
                items = await self._journal.inbox(session)
            except JournalError:
                # The turn meets the same trouble when it writes, and says so there.
                items = []
            for item in items:
                rig.mail = True
                if isinstance(item, AbortItem) and item.turn in (0, rig.turn.start.number):
                    rig.scope.abort()
                    return
            await self._posted(session)

    async def _posted(self, session: str) -> None:
        try:
            await self._journal.posted(session)
        except JournalError:
            await self._seams.sleep(WATCH_AGAIN_SECONDS)
