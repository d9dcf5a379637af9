"""Drive one session until it parks: the function that every engine and every worker calls."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bridle.core.action import Wait
from bridle.core.events import Entry
from bridle.core.ids import read_account
from bridle.core.inbox import AbortItem, InboxItem
from bridle.core.ledger import Shortage
from bridle.core.session import Session
from bridle.core.undo import has_mark
from bridle.engine.engine import Engine, Parked
from bridle.errors import JournalError, LeaseLost
from bridle.journal.journal import Journal, Lease, folded
from bridle.seams import Seams, begin
from bridle.turn.actions import Actions, TurnActions
from bridle.turn.active_turn import ActiveTurn, TurnFactory
from bridle.turn.children import report_end
from bridle.turn.loop import run_turn
from bridle.turn.record import Publish, Record
from bridle.turn.scope import Scope
from bridle.turn.settle import settle_left
from bridle.turn.take_inbox import answerable, openable, recalled, take_inbox
from bridle.turn.title import end_title

MAX_LOADED_SESSIONS = 64
WATCH_AGAIN_SECONDS = 1.0
RENEW_SECONDS = 5.0


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
        active = ActiveTurn(record, setup.turns, setup.seams, Scope(), others, held_prompts=held_prompts)
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
    try:
        outcome = await run_turn(setup.actions(active))
        await end_title(active)
        await active.record.flush()
    except JournalError:
        # Write past events if possible; the failure itself is reported in any case.
        with suppress(JournalError):
            await active.record.flush()
        raise
    finally:
        watch.cancel()
        await asyncio.wait([watch])
        await end_title(active)
    return outcome


async def _watch(active: ActiveTurn, setup: DriveSetup) -> None:
    """Notify the turn of new inbox items; end its effects at once on an abort, or when its lease is lost."""
    journal, lease, clock = setup.journal, active.record.lease, setup.seams.clock
    renewed = clock.monotonic()
    while True:
        try:
            items = await journal.inbox(lease.session)
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
                    record = self._setup.record(await self._setup.load(session), lease)
                    await settle_left(ActiveTurn(record, self._setup.turns, self._setup.seams, Scope(), self))
                finally:
                    await self._setup.journal.release(lease)


async def submit(session: str, item: InboxItem, journal: Journal, engine: Engine) -> bool:
    """Put an item into an inbox and wake its session; return whether the item is new."""
    enqueue = engine.enqueue(session)
    fresh = await journal.submit(session, item, wake=enqueue)
    if enqueue is None:
        await engine.wake(session)
    return fresh
