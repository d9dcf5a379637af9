"""The only write path: the journal with the ledger, then the fold, then whoever watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from bridle.core.events import Entry, Live, PartPut, Recorded
from bridle.core.fold import fold
from bridle.core.ledger import Change
from bridle.core.parts import Halt
from bridle.core.session import Session
from bridle.errors import JournalFull
from bridle.journal.journal import Journal, Lease, Weight
from bridle.seams import Clock

Publish = Callable[[str, Entry | Live], None]


class Record:
    """A session under our lease: appended to in order, folded, published."""

    def __init__(self, session: Session, journal: Journal, lease: Lease, clock: Clock, publish: Publish) -> None:
        self.session = session
        self.journal = journal
        self.lease = lease
        self.publish = publish
        self._clock = clock
        self._lock = asyncio.Lock()
        self._origin = clock.monotonic() - session.elapsed

    @property
    def elapsed(self) -> float:
        """Active seconds of the turn up to now."""
        return self._clock.monotonic() - self._origin

    def advance(self, elapsed: float) -> None:
        """Count the time that subagents took while this turn awaited them; time never goes back."""
        self._origin -= max(0.0, elapsed - self.elapsed)

    def _entry(self, events: tuple[Recorded, ...]) -> Entry:
        return Entry(self.session.sequence + 1, round(self._clock.wall(), 3), round(self.elapsed, 3), events)

    def _halt(self, full: JournalFull) -> list[Recorded]:
        turn = self.session.running
        return [] if turn is None else [PartPut(Halt(f"{turn.start.number}.halt", "error", str(full)))]

    async def append(
        self,
        *events: Recorded,
        change: Change | None = None,
        take: Sequence[str] = (),
        weight: Weight = "plain",
        opens_turn: bool = False,
    ) -> None:
        """Make these events true together. Intents raise `JournalFull`; what has happened is written at any price."""
        async with self._lock:
            if opens_turn:
                self._origin = self._clock.monotonic()
            entry = self._entry(events)
            try:
                await self.journal.append(self.lease, entry, change=change, take=take, weight=weight)
            except JournalFull as full:
                if weight != "plain":
                    raise
                # It has happened, so it is written, from the reserve; and with it that nothing more may happen.
                entry = self._entry((*events, *self._halt(full)))
                await self.journal.append(self.lease, entry, change=change, take=take, weight="ending")
            fold(self.session, entry)
        self.publish(self.lease.session, entry)
