"""An engine in this process: one task for each session that is driven."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from bridle.core.action import Pause, Wait
from bridle.core.decide import decide
from bridle.core.events import Entry
from bridle.core.inbox import AbortItem
from bridle.core.ledger import Shortage
from bridle.core.session import Session
from bridle.core.states import Ask
from bridle.core.undo import has_mark
from bridle.engine.bus import Bus
from bridle.engine.engine import Parked
from bridle.errors import JournalError, NoSuchSession
from bridle.journal.journal import Journal, Lease, folded
from bridle.seams import Seams, begin
from bridle.turn.actions import Actions, TurnActions
from bridle.turn.active_turn import ActiveTurn, TurnFactory
from bridle.turn.children import asks_id, end_id, report_end
from bridle.turn.loop import run_turn
from bridle.turn.record import Record
from bridle.turn.scope import Scope
from bridle.turn.settle import settle_left
from bridle.turn.take_inbox import answerable, openable, recalled, take_inbox
from bridle.turn.title import end_title

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
        turns: TurnFactory,
        bus: Bus,
        seams: Seams,
        actions: Callable[[ActiveTurn], Actions] = TurnActions,
    ) -> None:
        self._journal = journal
        self._turns = turns
        self._bus = bus
        self._seams = seams
        self._actions = actions
        self._drives: dict[str, _Drive] = {}
        self._kept: dict[str, Session] = {}
        self._closing = False
        self.started: set[str] = set()

    def wake(self, session: str, *, held_prompts: bool = False) -> None:
        drive = self._drives.setdefault(session, _Drive())
        drive.again = True
        drive.held_prompts = drive.held_prompts or held_prompts
        if drive.task is None or drive.task.done():
            drive.task = begin(self._drive(session, drive))
            # Whoever waits is told of a failure; nobody else needs to read of it.
            drive.task.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def parked(self, session: str) -> Parked:
        drive = self._drives.get(session)
        while drive is not None and (task := drive.task) is not None:
            await asyncio.wait([task])
            # A report may have woken the session again meanwhile.
            if drive.task is task:
                return task.result()
        return "idle"

    async def turn_ended(self, session: str) -> Parked | None:
        """Return once a turn has ended here, or nobody drives the session here; then it says why, as `parked`."""
        drive = self._drives.get(session)
        if drive is None or drive.task is None:
            return "idle"
        if drive.task.done():
            return drive.task.result()
        drive.ended = drive.ended or asyncio.Event()
        ended = begin(drive.ended.wait())
        await asyncio.wait([drive.task, ended], return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        return drive.task.result() if drive.task.done() else None

    def active(self) -> set[str]:
        return {id for id, drive in self._drives.items() if drive.task is not None and not drive.task.done()}

    def session(self, id: str) -> Session | None:
        """The session as the last drive here left it."""
        return self._kept.get(id)

    def drives(self, id: str) -> bool:
        """Whether the session was ever driven here."""
        return id in self._drives

    def stop_starting(self) -> None:
        """Open no turn any more; what runs goes on."""
        self._closing = True

    async def close(self) -> None:
        self.stop_starting()
        while tasks := self._tasks(""):
            await asyncio.wait(tasks)

    def _tasks(self, prefix: str) -> list[asyncio.Task[Parked]]:
        return [
            drive.task
            for id, drive in self._drives.items()
            if id.startswith(prefix) and drive.task is not None and not drive.task.done()
        ]

    async def any_ended(self, session: str, seconds: float) -> None:
        """Return once a drive in this tree has ended here, or after so long."""
        tasks = self._tasks(session)
        if tasks:
            await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        else:
            await self._seams.sleep(seconds)

    async def tend(self, id: str, told: tuple[Ask, ...] | None = None) -> bool:
        drive = self._drives.get(id)
        if drive is None:
            self.wake(id)
            return True
        if drive.task is not None:
            if not drive.task.done():
                return True
            failure = drive.task.exception()
            if failure is not None:
                # A drive that failed tells so, once, to whoever waits for its tree; then it may be tried again.
                drive.task = None
                raise failure
        try:
            if await self._journal.held(id):
                return True
            session = await self._load(id)
        except NoSuchSession:
            # Its parent died before it made it; the parent's recovery does.
            return False
        if await self._more(id, drive) or self._untold(session, told) or _interrupted(session):
            self.wake(id)
            return True
        running = session.running
        if running is None:
            return False
        return any([await self.tend(state.child, state.asks) for state in running.under_way.values()])

    def _untold(self, session: Session, told: tuple[Ask, ...] | None) -> bool:
        """Whether the parent may not have heard of an ending, or of what is asked here: its teller may have died."""
        end = end_id(session)
        if end:
            return end not in self.started
        asks = session.running.asks if session.running is not None else ()
        return bool(asks) and told == () and asks_id(session) not in self.started

    async def settle_dead(self, short: Shortage) -> None:
        owner = short.account.rpartition("/")[0] if short.scope in ("turn", "tree") else ""
        for account in await self._journal.holding(owner):
            session = account.id.rpartition("/")[0]
            if session in self.active() or await self._journal.held(session):
                continue
            lease = await self._journal.acquire(session)
            if lease is not None:
                try:
                    record = Record(
                        await self._load(session), self._journal, lease, self._seams.clock, self._bus.publish
                    )
                    await settle_left(ActiveTurn(record, self._turns, self._seams, Scope(), self))
                finally:
                    await self._journal.release(lease)

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
            if await self._more(id, drive):
                drive.again = True
        return parked

    async def _more(self, id: str, drive: _Drive) -> bool:
        items = await self._journal.inbox(id)
        session = self._kept.get(id)
        if not items or session is None:
            return False
        if session.running is not None:
            return answerable(session, items)
        if self._closing and not recalled(items):
            return False
        return openable(session, items, held_prompts=drive.held_prompts)

    async def _load(self, id: str) -> Session:
        session = self._kept.pop(id, None) or Session()
        entries: Sequence[Entry] = await self._journal.load(id, session.sequence)
        if has_mark(entries):
            # Something was undone or redone: what was folded before may not hold any more.
            session = Session()
            entries = await self._journal.load(id)
        session.lean = True
        self._kept[id] = folded(id, entries, session)
        if len(self._kept) > MAX_KEPT_SESSIONS:
            self._kept.pop(next(iter(self._kept)))
        return session

    async def _drive_leased(self, id: str, lease: Lease, drive: _Drive) -> Parked:
        session = await self._load(id)
        record = Record(session, self._journal, lease, self._seams.clock, self._bus.publish)
        while True:
            scope = Scope()
            active = ActiveTurn(record, self._turns, self._seams, scope, self, drive.held_prompts)
            if session.running is None:
                await report_end(session, self._journal, self)
                if self._closing and not recalled(await self._journal.inbox(id)):
                    return "idle"
                await take_inbox(active)
            if session.running is None:
                return "idle"
            drive.held_prompts = False
            watch = begin(self._watch(active))
            try:
                outcome = await run_turn(self._actions(active))
                await end_title(active)
                await record.flush()
            except JournalError:
                # What has happened is written if it can be; the failure itself is told in any case.
                with suppress(JournalError):
                    await record.flush()
                raise
            finally:
                watch.cancel()
                await asyncio.wait([watch])
                await end_title(active)
            if session.running is not None:
                return "waiting" if isinstance(outcome, Wait) else "paused"
            if drive.ended is not None:
                drive.ended.set()
                drive.ended = None

    async def _watch(self, active: ActiveTurn) -> None:
        """Tell the turn when there is mail, and end the effects under way as soon as it is an abort."""
        session = active.record.lease.session
        while True:
            try:
                items = await self._journal.inbox(session)
            except JournalError:
                # The turn meets the same trouble when it writes, and says so there.
                items = []
            for item in items:
                active.mail = True
                if isinstance(item, AbortItem) and item.turn in (0, active.turn.start.number):
                    active.scope.abort()
                    return
            await self._posted(session)

    async def _posted(self, session: str) -> None:
        try:
            await self._journal.posted(session)
        except JournalError:
            await self._seams.sleep(WATCH_AGAIN_SECONDS)


def _interrupted(session: Session) -> bool:
    """An open turn that awaits neither a person nor a subagent: whoever drove it is gone."""
    turn = session.running
    if turn is not None and turn.background:
        return not isinstance(decide(session.view(session.elapsed)), (Pause, Wait))
    return turn is not None and not turn.asks and not turn.children
