"""`Record`: the only write path of a session; first the journal with the budget, then the state, then subscribers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from bridle.core.events import Entry, Live, PartPut, Recorded, SessionInfo, thousandths
from bridle.core.fold import fold
from bridle.core.ids import turn_part_id
from bridle.core.ledger import AccountChange, BudgetRefused
from bridle.core.parts import Halt, Prompt
from bridle.core.session import Session
from bridle.errors import JournalFull, LeaseGivenUp, LeaseLost
from bridle.journal.journal import Journal, Lease, Weight
from bridle.seams import Clock

Publish = Callable[[str, Entry | Live], None]
Entries = tuple[Entry, ...]


class Record:
    """A session under this process's lease: appends in order, folds, publishes."""

    def __init__(self, session: Session, journal: Journal, lease: Lease, clock: Clock, publish: Publish) -> None:
        self.session = session
        self.journal = journal
        self.lease = lease
        self.publish = publish
        self._clock = clock
        self._lock = asyncio.Lock()
        self._held: Entries = ()
        self._change: AccountChange | None = None
        self.refuses: Literal["nothing", "intents", "all"] = "nothing"
        """What is no longer recorded, since the session is handed over to another process."""
        self._origin = clock.monotonic() - session.elapsed

    @property
    def elapsed(self) -> float:
        """Active seconds of the turn so far."""
        return self._clock.monotonic() - self._origin

    def advance(self, elapsed: float) -> None:
        """Add the time for which this turn awaited subagents; time never goes back."""
        self._origin -= max(0.0, elapsed - self.elapsed)

    def _entry(self, events: tuple[Recorded, ...]) -> Entry:
        return Entry(self.session.sequence + 1, thousandths(self._clock.wall()), thousandths(self.elapsed), events)

    def _halt(self, detail: str) -> tuple[Recorded, ...]:
        turn = self.session.running
        return () if turn is None else (PartPut(Halt(turn_part_id(turn.start.number, "halt"), "error", detail)),)

    async def append(
        self,
        *events: Recorded,
        change: AccountChange | None = None,
        take: Sequence[str] = (),
        weight: Weight = "plain",
        opens_turn: bool = False,
    ) -> None:
        """Record these events together. Intents raise `JournalFull`; past events are written even from the reserve."""
        if self.refuses != "nothing":
            self._refuse(intent=weight == "intent")
        await self._lock.acquire()
        try:
            if opens_turn:
                self._origin = self._clock.monotonic()
            await self._put((self._entry(events),), change, take, weight)
        except (BudgetRefused, JournalFull) as refused:
            full = isinstance(refused, JournalFull)
            if not full or weight != "plain":
                if self._held and weight in ("intent", "words"):
                    # A refused append must not lose the events held before it.
                    await self._put((), None, (), "ending" if full else "plain")
                raise
            # It has happened, so it is written from the reserve, together with a halt of the turn.
            await self._put((self._entry((*events, *self._halt(str(refused)))),), change, take, "ending")
        finally:
            self._lock.release()

    def _refuse(self, *, intent: bool) -> None:
        if self.refuses == "all" or (intent and self.refuses == "intents"):
            raise LeaseGivenUp(f"session {self.lease.session} is handed over to another process")

    async def append_with_next(self, *events: Recorded, settles: AccountChange | None = None) -> None:
        """Append events that another append follows immediately: one commit for both.

        They are folded now, and published when written. If the process dies before that, they did not happen.
        """
        if self.refuses != "nothing":
            self._refuse(intent=False)
        if self._lock.locked():
            async with self._lock:
                pass  # Text is being written: the held events come after it.
        entry = self._entry(events)
        fold(self.session, entry)
        self._held += (entry,)
        assert settles is None or self._change is None, "a reply is settled before the next one is asked for"
        self._change = settles or self._change

    async def flush(self) -> None:
        """Write the held events if no append followed; they have happened, so from the reserve if necessary."""
        async with self._lock:
            if self._held:
                try:
                    await self._put((), None, (), "plain")
                except JournalFull:
                    await self._put((), None, (), "ending")

    async def _put(self, new: Entries, change: AccountChange | None, take: Sequence[str], weight: Weight) -> None:
        *before, last = written = self._held + new
        if self._change is not None:
            settles = self._change.settles + (change.settles if change is not None else ())
            change = msgspec.structs.replace(change or self._change, settles=settles)
        await self.journal.append(self.lease, last, change=change, take=take, weight=weight, before=before)
        self._held, self._change = (), None
        for entry in new:
            fold(self.session, entry)
        for entry in written:
            self.publish(self.lease.session, entry)


async def copied(
    journal: Journal, info: SessionInfo, entries: Sequence[Entry], change: AccountChange | None = None
) -> None:
    """Write a session as it was recorded elsewhere; raises `LeaseLost` if it is being driven here.
    `change` opens the accounts of a turn that has not ended.
    """
    await journal.create(info)
    lease = await journal.acquire(info.id)
    if lease is None:
        raise LeaseLost(f"session {info.id} is being driven: wait for it, or abort it")
    try:
        for entry in entries:
            # A later submit of one of these prompts, for example by a resumed parent, counts as a repetition.
            parts = [event.part for event in entry.events if isinstance(event, PartPut)]
            taken = [part.id for part in parts if isinstance(part, Prompt)]
            await journal.append(lease, entry, change=change if entry is entries[-1] else None, take=taken)
    finally:
        await journal.release(lease)
