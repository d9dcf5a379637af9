"""`drive`: take the lease of a session and run its turns until it must wait; every engine and worker calls it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bridle.core.action import Wait
from bridle.core.events import Entry
from bridle.core.ids import read_account
from bridle.core.inbox import AbortItem, AtOnceItem, InboxItem
from bridle.core.ledger import Shortage
from bridle.core.session import Session
from bridle.core.undo import has_mark
from bridle.engine.engine import Engine, Parked
from bridle.engine.leaving import Leaving, record_hand_over
from bridle.errors import JournalError, LeaseGivenUp, LeaseLost
from bridle.journal.journal import Journal, Lease, folded
from bridle.seams import Seams, begin, uninterrupted
from bridle.turn.actions import Actions, TurnActions
from bridle.turn.active_turn import ActiveTurn, TurnFactory
from bridle.turn.children import report_end
from bridle.turn.loop import run_turn
from bridle.turn.record import Publish, Record
from bridle.turn.scope import Scope
from bridle.turn.settle import settle_left
from bridle.turn.take_at_once import take_at_once, waits_at_once
from bridle.turn.take_inbox import answerable, openable, recalled, take_beside, take_inbox
from bridle.turn.title import end_title

MAX_LOADED_SESSIONS = 64
WATCH_AGAIN_SECONDS = 1.0
RENEW_SECONDS = 5.0
LOOK_SECONDS = 0.2


@dataclass(slots=True, kw_only=True)
class DriveSetup:
    """Dependencies of all drives in one process, and the sessions that they have loaded."""

    journal: Journal
    turns: TurnFactory
    publish: Publish
    seams: Seams
    actions: Callable[[ActiveTurn], Actions] = TurnActions
    live: dict[str, Session] = field(default_factory=dict)
    """Sessions being driven in this process, under their leases."""
    loaded: dict[str, Session] = field(default_factory=dict)
    """Sessions recently driven or read in this process."""
    leaving: Leaving = field(default_factory=Leaving)
    tool_places: asyncio.Semaphore | None = None
    """Limits the tool calls that run at once in this process."""
    submitted: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Ids of the items that an open turn is known to have submitted to other sessions, by its session."""

    async def load(self, id: str) -> Session:
        """Return a session that is not driven here, in its current journal state; only new entries are read."""
        session = self.loaded.pop(id, None) or Session()
        entries: Sequence[Entry] = await self.journal.load(id, session.sequence)
        if has_mark(entries):
            # An undo or a redo may invalidate the state folded so far.
            session = Session()
            entries = await self.journal.load(id)
        session.lean = True
        self.keep(id, folded(id, entries, session))
        return session

    def keep(self, id: str, session: Session) -> None:
        """Cache a session, and evict one that was not used for long."""
        self.loaded[id] = session
        if len(self.loaded) > MAX_LOADED_SESSIONS:
            self.loaded.pop(next(iter(self.loaded)))

    def record(self, session: Session, lease: Lease) -> Record:
        """Return the write path to a session under its lease."""
        return Record(session, self.journal, lease, self.seams.clock, self.publish)


async def drive(id: str, setup: DriveSetup, engine: Engine, *, held_prompts: bool = False) -> Parked:
    """Drive a session until it parks; raises `JournalError`. May be called at any moment, by any process."""
    while True:
        lease = await setup.journal.acquire(id)
        if lease is None:
            # The lease holder looks into the inbox before and after it releases the lease.
            return "elsewhere"
        try:
            session = setup.live[id] = await setup.load(id)
            del setup.loaded[id]
            parked = await _drive_leased(session, lease, setup, engine, held_prompts=held_prompts)
            setup.keep(id, session)
        finally:
            setup.live.pop(id, None)
            try:
                await setup.turns.release(id)
            finally:
                await setup.journal.release(lease)
        if parked == "idle":
            setup.submitted.pop(id, None)
        held_prompts = False
        if not await has_work(id, setup, engine):
            return parked


async def has_work(id: str, setup: DriveSetup, engine: Engine) -> bool:
    """Return whether the inbox holds an item that a drive would take now, judged by the session as last loaded."""
    items = await setup.journal.inbox(id)
    session = setup.loaded.get(id)
    if not items or session is None:
        return False
    if session.running is not None:
        return answerable(session, items)
    if engine.closing and not recalled(items):
        return False
    return openable(session, items, held_prompts=False)


async def _drive_leased(
    session: Session, lease: Lease, setup: DriveSetup, engine: Engine, *, held_prompts: bool
) -> Parked:
    record = setup.record(session, lease)
    others = Others(lease.session, setup, engine)
    while True:
        active = ActiveTurn(
            record, setup.turns, setup.seams, Scope(setup.tool_places), others, held_prompts=held_prompts
        )
        if session.running is None:
            await report_end(session, others)
            if engine.closing and not recalled(await setup.journal.inbox(lease.session)):
                return "idle"
            await take_inbox(active)
        if session.running is None:
            return "idle"
        held_prompts = False
        await setup.turns.attach(session)
        outcome = await _run(active, setup)
        if session.running is not None:
            return "waiting" if isinstance(outcome, Wait) else "paused"


async def _run(active: ActiveTurn, setup: DriveSetup) -> object:
    """Run the open turn until it finishes or parks, and watch its inbox and its lease."""
    watch = begin(_watch(active, setup))
    actions = setup.actions(active)
    setup.leaving.add(active)
    try:
        outcome = await run_turn(actions)
        await end_title(active)
        await active.record.flush()
    except LeaseGivenUp:
        setup.leaving.remove(active)
        await record_hand_over(active)
        raise
    except JournalError:
        # Write past events if possible; the failure itself is reported in any case.
        with suppress(JournalError):
            await active.record.flush()
        raise
    finally:
        watch.cancel()
        await asyncio.wait([watch])
        await end_title(active)
        await actions.leave()
        setup.leaving.remove(active)
    return outcome


async def _watch(active: ActiveTurn, setup: DriveSetup) -> None:
    """Notify the turn of new inbox items; end its effects at once on an abort, or when its lease is lost."""
    journal, lease, clock = setup.journal, active.record.lease, setup.seams.clock
    renewed = clock.monotonic()
    while True:
        try:
            items = await journal.inbox(lease.session)
            if waits_at_once(items):
                await uninterrupted(take_beside(active))
            for item in items:
                active.mail = True
                if isinstance(item, AbortItem) and item.turn in (0, active.turn.start.number):
                    active.scope.abort()
                    return
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, renewed + RENEW_SECONDS - clock.monotonic())):
                    await journal.posted(lease.session)
                    continue
            await journal.renew(lease)
            renewed = clock.monotonic()
        except LeaseLost:
            # The turn's next append fails with the same error, and ends the drive.
            active.scope.abort()
            return
        except JournalError:
            # The turn meets the same failure when it writes, and reports it there.
            await setup.seams.sleep(WATCH_AGAIN_SECONDS)


class Others:
    """The sessions around a driven one; see `OtherSessions`."""

    def __init__(self, session: str, setup: DriveSetup, engine: Engine) -> None:
        self._setup = setup
        self._engine = engine
        self.submitted = setup.submitted[session]

    async def submit(self, session: str, item: InboxItem) -> bool:
        return await submit(session, item, self._setup.journal, self._engine)

    async def report(self, parent: str, item: InboxItem) -> None:
        if await self._setup.journal.submit(parent, item):
            await self._engine.report(parent)

    async def settle_dead(self, short: Shortage) -> None:
        short_of = read_account(short.account)
        # If a day or a month is short, the reservations of all sessions count.
        for account in await self._setup.journal.holding(short_of.session if short_of is not None else ""):
            holder = read_account(account.id)
            assert holder is not None, account
            session = holder.session
            if self._engine.drives(session) or await self._setup.journal.held(session):
                continue
            lease = await self._setup.journal.acquire(session)
            if lease is not None:
                try:
                    await settle_abandoned(lease, self._setup, self)
                finally:
                    await self._setup.journal.release(lease)


async def settle_abandoned(lease: Lease, setup: DriveSetup, others: Others) -> None:
    """Settle what a dead process left open in a session, also on the ledger. Resumes nothing."""
    record = setup.record(await setup.load(lease.session), lease)
    await settle_left(ActiveTurn(record, setup.turns, setup.seams, Scope(), others))


async def submit(session: str, item: InboxItem, journal: Journal, engine: Engine) -> bool:
    """Put an item into an inbox and wake its session; return whether the item is new."""
    enqueue = engine.enqueue(session)
    fresh = await journal.submit(session, item, wake=enqueue)
    if enqueue is None:
        await engine.wake(session)
    return fresh


async def settle(session: str, item: AtOnceItem, setup: DriveSetup, engine: Engine) -> None:
    """Submit an item that changes no turn, and return once it is recorded: by the lease holder, or else here.

    Starts no turn, and continues none. If this process dies, the next lease holder records the item.
    """
    mark = 0
    await setup.journal.submit(session, item)
    while any(waiting.id == item.id for waiting in await setup.journal.inbox(session)):
        lease = await setup.journal.acquire(session)
        if lease is None:
            mark = await _changed(session, mark, setup.journal)
            continue
        await uninterrupted(_settle_here(lease, setup))
        if await has_work(session, setup, engine):
            # A drive that was to take it found the lease taken.
            await engine.wake(session)


async def _settle_here(lease: Lease, setup: DriveSetup) -> None:
    id = lease.session
    try:
        session = setup.live[id] = await setup.load(id)
        del setup.loaded[id]
        await take_at_once(setup.record(session, lease), await setup.journal.inbox(id))
        setup.keep(id, session)
    finally:
        setup.live.pop(id, None)
        await setup.journal.release(lease)


async def _changed(session: str, mark: int, journal: Journal) -> int:
    """Return the next mark once a session has changed, or after a while: a lease holder may die silently."""
    changed = begin(journal.changed(session, mark, every=True))
    try:
        await asyncio.wait([changed], timeout=LOOK_SECONDS)
        return changed.result() if changed.done() else mark
    finally:
        changed.cancel()
