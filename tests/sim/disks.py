"""The disks of a world: what they note of whoever writes, and the one in memory."""

from __future__ import annotations

import asyncio
import atexit
import random
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from support.cut_process import WiredJournal

from bridle.core.events import Entry, SessionInfo
from bridle.core.inbox import InboxItem
from bridle.core.ledger import Account, AccountChange
from bridle.errors import JournalFailed, JournalFull
from bridle.journal.journal import Journal, Lease, Wake
from bridle.seams import Seams
from sim.plan import Plan

SICKLY = 0.15
"""How many of the writes fail while nothing works."""
ROOT = Path(tempfile.mkdtemp(prefix="bridle-sim-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
atexit.register(shutil.rmtree, ROOT, ignore_errors=True)


@dataclass
class Kept:
    """What a disk holds of one session."""

    entries: list[Entry]
    inbox: list[InboxItem]
    epoch: int


class Disk:
    """Notes who wrote and what was published, and breaks where the plan says so; `open` once for each process."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.writes = 0
        self.stale: list[str] = []
        self.holders: dict[str, Watched] = {}
        """The process that was last given each session."""
        self.falls: list[str] = []
        self.over: list[str] = []
        self.published: list[tuple[str, int, Any]] = []
        self.written: list[tuple[str, int]] = []
        self.submitted: list[tuple[str, str]] = []
        """What people were told is safe."""
        self.promised: list[tuple[str, int]] = []
        """Intents and endings that were written: what follows from them may have happened already."""
        self.lost: list[tuple[str, Any]] = []
        """What of both was not there after a death."""
        self.home = ROOT / f"{plan.seed} {id(self)}"
        """A folder that outlives every process."""
        self._chance = random.Random(f"disk {plan.seed}")

    def open(self, seams: Seams) -> Journal:
        raise NotImplementedError

    def kept(self) -> dict[str, Kept]:
        raise NotImplementedError

    def accounts(self) -> dict[str, Account]:
        raise NotImplementedError

    @property
    def state(self) -> Any:
        """What a death would find, as far as it can be told without looking."""
        return self.writes, len(self.written), len(self.submitted)

    def appended(self, lease: Lease, writer: Watched, change: AccountChange | None) -> None:
        """An append of this process has returned."""

    def written_under(self, lease: Lease, latest: int) -> None:
        """Called as an entry is written, not later: somebody may take the session over while it is synced."""
        if lease.epoch != latest:
            self.stale.append(f"{lease.session} was written under lease {lease.epoch}")

    def names(self) -> list[str]:
        """The sessions that there are."""
        raise NotImplementedError

    def held(self) -> list[str]:
        """The sessions that a living process holds."""
        raise NotImplementedError

    def steal(self, session: str) -> None:
        """The lock is gone, and its holder does not know."""
        raise NotImplementedError

    def free(self, journal: Any, leases: dict[str, Lease]) -> None:
        """A process is dead: the machine frees what it had locked."""
        raise NotImplementedError

    def reboot(self) -> None:
        """All processes are dead, or the machine was."""

    def close(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)

    def copied(self, plan: Plan) -> Disk:
        """The same disk once more, for another life on it."""
        raise NotImplementedError

    async def write(self, journal: Any, work: Callable[[], Coroutine[Any, Any, Any]], *, ending: bool) -> Any:
        raise NotImplementedError

    def _ill(self) -> bool:
        return self.plan.health.sick and self._chance.random() < SICKLY

    def note(self, session: str, entry: Entry) -> None:
        self.published.append((session, entry.sequence, entry.events))

    def compare(self, before: dict[str, Account]) -> None:
        """Nothing that is spent may ever become less, and whoever has subagents keeps something for its closing."""
        after = self.accounts()
        for id, old in before.items():
            new = after[id]
            if new.spent.tokens < old.spent.tokens or new.spent.cost < old.spent.cost - 1e-12:
                self.falls.append(f"{id} spent less")
            if new.spent.steps < old.spent.steps or new.total < old.total:
                self.falls.append(f"{id} counted back")
            if new.children and new.kept.tokens == 0:
                self.over.append(f"{id} keeps nothing for its closing request")

    def posted(self, change: AccountChange, account_of: Callable[[str], Account | None]) -> None:
        """Called as a change is made, not later: others settle and keep more meanwhile, whatever fitted before."""
        account = account_of(change.account) if change.reserves is not None else None
        while account is not None:
            self._fits(account)
            account = account_of(account.parent) if account.parent is not None else None

    def _fits(self, account: Account) -> None:
        """A reservation was taken: with it, what is spent and what others keep, every limit of the account holds."""
        for limits in (account.limits, account.tree):
            for name in ("tokens", "cost"):
                allowed = None if limits is None else limits.of(name)
                taken = sum(getattr(amount, name) for amount in (account.spent, account.reserved, account.keeps))
                if allowed is not None and taken > allowed + 1e-9:
                    self.over.append(f"{account.id} reserved {taken} {name} of {allowed}")


class Watched:
    """A process's journal, whose writes the disk takes note of."""

    def __init__(self, disk: Disk, inner: Any) -> None:
        self._disk = disk
        self._inner = inner

    async def append(self, lease: Lease, entry: Entry, **rest: Any) -> None:
        disk = self._disk
        changed = rest.get("change") is not None

        async def work() -> None:
            before = disk.accounts() if changed else {}
            await self._inner.append(lease, entry, **rest)
            disk.appended(lease, self, rest.get("change"))
            disk.written += [(lease.session, one.sequence) for one in (*rest.get("before", ()), entry)]
            if rest.get("weight") in ("intent", "ending"):
                disk.promised.append((lease.session, entry.sequence))
            if changed:
                disk.compare(before)

        await self._written(work, ending=rest.get("weight") == "ending")

    async def submit(self, session: str, item: InboxItem, *, wake: Wake | None = None) -> bool:
        fresh = bool(await self._written(lambda: self._inner.submit(session, item, wake=wake)))
        self._disk.submitted.append((session, item.id))
        return fresh

    async def create(self, info: SessionInfo) -> None:
        await self._written(lambda: self._inner.create(info))

    async def acquire(self, session: str) -> Lease | None:
        found: Lease | None = None

        async def work() -> None:
            nonlocal found
            found = await self._inner.acquire(session)

        try:
            await self._written(work)
        except JournalFailed:
            # Whoever fails to take a lease does not keep it; SQLite's journal sees to that itself.
            if found is not None:
                await self._inner.release(found)
            raise
        if found is not None:
            self._disk.holders[session] = self
        return found

    async def _written(self, work: Callable[[], Coroutine[Any, Any, Any]], *, ending: bool = False) -> Any:
        # A disk takes its time, and others go on meanwhile.
        await asyncio.sleep(0)
        self._disk.writes += 1
        return await self._disk.write(self._inner, work, ending=ending)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class MemoryDisk(Disk):
    """One journal in memory for all processes, whose writes fail before or after they are done."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._journal = WiredJournal()

    def open(self, seams: Seams) -> Journal:
        return self._journal

    def copied(self, plan: Plan) -> MemoryDisk:
        other = MemoryDisk(plan)
        for name in ("writes", "stale", "falls", "over", "published", "written", "submitted", "promised", "lost"):
            setattr(other, name, copy(getattr(self, name)))
        other._chance.setstate(self._chance.getstate())
        for id, kept in self._journal._sessions.items():
            there = replace(
                kept, entries=list(kept.entries), inbox=dict(kept.inbox), bells=[], watchers=[], followers=[]
            )
            other._journal._sessions[id] = there
        other._journal._accounts.update(self._journal._accounts)
        return other

    def kept(self) -> dict[str, Kept]:
        return {
            id: Kept(kept.entries, [item for item in kept.inbox.values() if item is not None], kept.epoch)
            for id, kept in self._journal._sessions.items()
        }

    def accounts(self) -> dict[str, Account]:
        return dict(self._journal._accounts)

    def appended(self, lease: Lease, writer: Watched, change: AccountChange | None) -> None:
        if change is not None:
            self.posted(change, self._journal._accounts.get)
        # Nobody comes between here, so that whoever took the session last has written this.
        self.written_under(lease, self._journal._sessions[lease.session].epoch)
        if self.holders[lease.session] is not writer:
            self.stale.append(f"{lease.session} was written by whoever has lost it")

    def names(self) -> list[str]:
        return sorted(self._journal._sessions)

    def held(self) -> list[str]:
        return sorted(id for id, kept in self._journal._sessions.items() if kept.held)

    def steal(self, session: str) -> None:
        self._journal._sessions[session].held = False

    def free(self, journal: Any, leases: dict[str, Lease]) -> None:
        for session, lease in leases.items():
            kept = self._journal._sessions[session]
            if kept.epoch == lease.epoch:
                kept.held = False

    def reboot(self) -> None:
        for kept in self._journal._sessions.values():
            kept.held = False
            kept.bells.clear()

    async def write(self, journal: Any, work: Callable[[], Coroutine[Any, Any, Any]], *, ending: bool) -> Any:
        ill = self._chance.choice(["full", "before", "after"]) if self._ill() else ""
        if (self.writes == self.plan.full_at or ill == "full") and not ending:
            self.plan.seen["memory: full"] += 1
            raise JournalFull("the disk is full")
        failing = self.writes == self.plan.fail_at
        if (failing and self.plan.seed % 2) or ill == "before":
            self.plan.seen["memory: failed before it was written"] += 1
            raise JournalFailed("the disk is gone")
        result = await work()
        if failing or ill == "after":
            self.plan.seen["memory: failed after it was written"] += 1
            raise JournalFailed("the disk is gone, after it was written")
        return result
