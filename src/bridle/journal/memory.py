"""`MemoryJournal`: a journal in memory, with the same contract as SQLite's, for tests and turns that are not kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from bridle.core.budget import Budget, BudgetChange
from bridle.core.events import Entry, PartPut, SessionInfo, SessionPut
from bridle.core.ids import account_range, is_account_in, is_below, period_range, read_account
from bridle.core.inbox import InboxItem
from bridle.core.ledger import Account, AccountChange, post
from bridle.core.parts import TurnFinish, TurnStart
from bridle.errors import LeaseLost, NoSuchSession
from bridle.journal.journal import Lease, SessionQuery, SessionRow, Wake, Weight, page, session_entry
from bridle.seams import new_lock
from bridle.wire import entries as wire


class _Bell:
    """An event that any thread may set; it is awaited in the loop that created it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self.wait = self._event.wait

    def ring(self) -> None:
        if asyncio.get_running_loop() is self._loop:
            self._event.set()
            return
        # A closed loop has no waiters left.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._event.set)


def _ring(bells: list[_Bell]) -> None:
    for bell in bells:
        bell.ring()
    bells.clear()


@dataclass(slots=True)
class _Kept:
    info: SessionInfo
    entries: list[Entry] = field(default_factory=list)
    inbox: dict[str, InboxItem | None] = field(default_factory=dict)
    epoch: int = 0
    held: bool = False
    bells: list[_Bell] = field(default_factory=list)
    """One for each waiter for an item."""
    ends: int = 1
    """Number of endings so far."""
    changes: int = 1
    watchers: list[_Bell] = field(default_factory=list)
    """One for each waiter for an ending."""
    followers: list[_Bell] = field(default_factory=list)
    """One for each waiter for any change."""

    @property
    def ended(self) -> bool:
        """Whether the last turn has ended and nothing waits in the inbox."""
        return not self.held and not any(self.inbox.values()) and isinstance(next(self._edges(), None), TurnFinish)

    def _edges(self) -> Iterator[TurnStart | TurnFinish]:
        """Yield the starts and ends of turns, the last one first."""
        for entry in reversed(self.entries):
            for event in reversed(entry.events):
                if isinstance(event, PartPut) and isinstance(event.part, (TurnStart, TurnFinish)):
                    yield event.part

    def change(self, *, ends: bool) -> None:
        """Count a change, or an ending, and wake its waiters."""
        self.changes += 1
        _ring(self.followers)
        if ends:
            self.ends += 1
            _ring(self.watchers)


class MemoryJournal:
    """Keeps sessions until the process ends; see `Journal`. Any number of threads may use it at once.

    With `keeps`, about this many are kept: the oldest whose turns have ended are forgotten.
    """

    def __init__(self, *, keeps: int | None = None) -> None:
        self._keeps = keeps
        self._sessions: dict[str, _Kept] = {}
        self._accounts: dict[str, Account] = {}
        self._budgets: dict[str, list[BudgetChange]] = {}
        self._lock = new_lock()

    def _kept(self, session: str) -> _Kept:
        try:
            return self._sessions[session]
        except KeyError:
            raise NoSuchSession(f"there is no session {session}") from None

    def _held(self, lease: Lease) -> _Kept:
        kept = self._kept(lease.session)
        if kept.epoch != lease.epoch or not kept.held:
            raise LeaseLost(f"session {lease.session} is written by another process now")
        return kept

    async def create(self, info: SessionInfo) -> None:
        with self._lock:
            if info.id not in self._sessions:
                if self._keeps is not None and len(self._sessions) >= 2 * self._keeps:
                    self._forget(len(self._sessions) - self._keeps)
                self._sessions[info.id] = _Kept(info, [session_entry(info)])

    def _forget(self, number: int) -> None:
        """Delete the oldest trees of sessions that have ended, about this many sessions."""
        ended = (id for id, kept in self._sessions.items() if not kept.info.parent and kept.ended)
        roots = set(islice(ended, number))
        for id in [id for id in self._sessions if id in roots or any(is_below(id, root) for root in roots)]:
            del self._sessions[id]
        accounts = ((id, account, read_account(id)) for id, account in self._accounts.items())
        self._accounts = {id: row for id, row, turn in accounts if turn is None or turn.session in self._sessions}

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
        with self._lock:
            kept = self._held(lease)
            entries = (*before, entry)
            if entries[0].sequence != len(kept.entries) + 1:
                raise LeaseLost(f"session {lease.session} has new entries of another process")
            if change is not None:
                self._accounts.update(post(change, self._accounts.get, self._budget))
            kept.entries += entries
            kept.inbox.update(dict.fromkeys(take))
            for one in entries:
                for event in one.events:
                    if isinstance(event, SessionPut):
                        kept.info = event.info
            kept.change(ends=weight == "ending")

    async def load(self, session: str, after: int = 0) -> list[Entry]:
        return self._kept(session).entries[after:]

    async def submit(self, session: str, item: InboxItem, *, wake: Wake | None = None) -> bool:
        with self._lock:
            kept = self._kept(session)
            if wake is not None:
                wake(self)
            if item.id in kept.inbox:
                return False
            kept.inbox[item.id] = item
            _ring(kept.bells)
            kept.change(ends=True)
            return True

    async def inbox(self, session: str) -> list[InboxItem]:
        with self._lock:
            return [item for item in self._kept(session).inbox.values() if item is not None]

    async def acquire(self, session: str) -> Lease | None:
        with self._lock:
            kept = self._kept(session)
            if kept.held:
                return None
            kept.held = True
            kept.epoch += 1
            return Lease(session, kept.epoch)

    async def renew(self, lease: Lease) -> None:
        self._held(lease)

    async def release(self, lease: Lease) -> None:
        with self._lock:
            kept = self._sessions.get(lease.session)
            if kept is not None and kept.epoch == lease.epoch:
                kept.held = False
                kept.change(ends=True)

    async def held(self, session: str) -> bool:
        return self._kept(session).held

    async def posted(self, session: str) -> None:
        bell = _Bell()
        with self._lock:
            bells = self._kept(session).bells
            bells.append(bell)
        await self._hear(bell, bells)

    async def changed(self, session: str, since: int, *, every: bool = False) -> int:
        while True:
            bell = _Bell()
            with self._lock:
                kept = self._kept(session)
                mark = kept.changes if every else kept.ends
                if mark != since:
                    return mark
                bells = kept.followers if every else kept.watchers
                bells.append(bell)
            await self._hear(bell, bells)

    async def _hear(self, bell: _Bell, bells: list[_Bell]) -> None:
        try:
            await bell.wait()
        finally:
            with self._lock:
                if bell in bells:
                    bells.remove(bell)

    async def account(self, id: str) -> Account | None:
        return self._accounts.get(id)

    def _budget(self, account: str) -> Budget | None:
        known = self._budgets.get(account)
        return known[-1].budget if known else None

    async def set_budget(self, account: str, change: BudgetChange) -> bool:
        first, end = period_range(account)
        with self._lock:
            if self._budget(account) == change.budget:
                return False
            self._budgets.setdefault(account, []).append(change)
            for row in [row for id, row in self._accounts.items() if first <= id < end]:
                self._accounts[row.id] = msgspec.structs.replace(row, limits=change.budget.of(row.scope))
            return True

    async def budgets(self, account: str, most: int = 1) -> list[BudgetChange]:
        with self._lock:
            return self._budgets.get(account, [])[::-1][:most]

    async def holding(self, root: str) -> list[Account]:
        with self._lock:
            return [account for account in self._accounts.values() if account.held and is_account_in(account.id, root)]

    async def sessions(self, query: SessionQuery | None = None) -> list[SessionRow]:
        with self._lock:
            rows = [SessionRow(kept.info, len(kept.entries), kept.entries[-1].at) for kept in self._sessions.values()]
        return page(sorted(rows, key=lambda row: row.mark, reverse=True), query)

    async def delete(self, lease: Lease) -> None:
        first, end = account_range(lease.session)
        with self._lock:
            self._held(lease)
            del self._sessions[lease.session]
            self._accounts = {id: account for id, account in self._accounts.items() if not first <= id < end}

    async def size(self, session: str) -> int:
        return sum(len(wire.encode_events(entry)) for entry in self._kept(session).entries)

    async def shrink(self) -> None:
        """Do nothing: deleted sessions take no space."""

    async def close(self) -> None:
        with self._lock:
            for kept in self._sessions.values():
                kept.held = False
