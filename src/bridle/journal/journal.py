"""The contract of a journal: append under a lease, load, follow, inbox, ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import msgspec

from bridle.core.events import Entry, Recorded, SessionInfo
from bridle.core.fold import fold
from bridle.core.inbox import InboxItem
from bridle.core.ledger import Account, AccountChange
from bridle.core.session import Session
from bridle.core.undo import visible
from bridle.errors import JournalRefused


class Lease(msgspec.Struct, frozen=True):
    """The right to append to one session; a later acquire raises the epoch and ends it."""

    session: str
    epoch: int


Weight = Literal["plain", "words", "intent", "ending"]
"""Intents and endings reach the disk before `append` returns; only an ending may use the reserve of a full disk."""


Wake = Callable[[Any], object]
"""Called with the journal's connection inside the transaction of `submit`; awaited where the connection is async."""


class SessionRow(msgspec.Struct, frozen=True):
    """A session as a list shows it."""

    info: SessionInfo
    sequence: int
    updated: float


class Journal(Protocol):
    """Sessions, their inboxes, their leases and the ledger, in one place and one transaction.

    Methods may raise `JournalError`. After `JournalFailed` the append is there whole or not at all, and only a load
    tells which; whoever appends lets go of the session then.
    What `append` and `submit` returned from survives the death of the process; what was durable, also a power loss.
    A journal connects when it is first used: to construct one neither fails nor touches a file.
    """

    async def create(self, info: SessionInfo) -> None:
        """Make a session with its first entry; again with the same id does nothing."""

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
        """Write one entry, those held before it, what they do to the ledger and the taking of inbox items, or nothing.

        An item may be taken that never came: then it counts as one that was there.
        Raises `LeaseLost` if the epoch is old or the sequence is not the next, `BudgetRefused` if a reservation or a
        charge has no room, `JournalFull` if the disk is full. Only `record.py` calls this.
        """

    async def load(self, session: str, after: int = 0) -> list[Entry]:
        """The entries after a sequence number, in order; raises `NoSuchSession`."""

    async def submit(self, session: str, item: InboxItem, *, wake: Wake | None = None) -> bool:
        """Put an item into the inbox; durable once it returns. False if one of this id was there, taken or not.

        `wake` is called in the same transaction, also for an item that is not new; if it raises, nothing is submitted.
        """

    async def inbox(self, session: str) -> list[InboxItem]:
        """The items that nobody took, in the order of their submission."""

    async def acquire(self, session: str) -> Lease | None:
        """The lease, with a new epoch; None while another holds it. Freed when its process dies."""

    async def renew(self, lease: Lease) -> None:
        """Keep the lease for longer, where leases run out; raises `LeaseLost` if another has it."""

    async def release(self, lease: Lease) -> None:
        """Give the lease back. May be called twice."""

    async def held(self, session: str) -> bool:
        """Whether anybody holds the lease of this session."""

    async def posted(self, session: str) -> None:
        """Return once an item may have come into the inbox since the last call; may return without reason."""

    async def changed(self, session: str, since: int, *, every: bool = False) -> int:
        """Return a mark other than `since` once a turn may have ended, the lease may be free or an item may have come.

        With `every`, once anything may have been recorded. It may return without reason; marks begin with 0, count for
        one kind of call, and mean nothing to another journal. Any number of callers may wait at once.
        """

    async def account(self, id: str) -> Account | None:
        """A row of the ledger, with the reservations that it holds."""

    async def holding(self, root: str) -> list[Account]:
        """The accounts of turns of this session, and of those below it, that hold reservations; without one, of all."""

    async def sessions(self) -> list[SessionRow]:
        """All sessions, the one that changed last first."""

    async def delete(self, lease: Lease) -> None:
        """Forget a session, its inbox and the accounts of its turns; what days and months have spent stays.

        Raises `LeaseLost` if the epoch is old.
        """

    async def size(self, session: str) -> int:
        """About how many bytes the entries of a session take."""

    async def shrink(self) -> None:
        """Give back the room that deleted sessions took; raises `JournalFailed` if others are writing."""

    async def close(self) -> None:
        """Let go of files and leases. Called by whoever opened the journal; may be called twice."""


def session_entry(info: SessionInfo, events: tuple[Recorded, ...]) -> Entry:
    """The first entry of a session."""
    return Entry(1, info.created, 0.0, events)


def folded(id: str, entries: Sequence[Entry], onto: Session) -> Session:
    """The session with these entries taken into it; raises `JournalRefused` if they do not fit together."""
    try:
        for entry in visible(entries):
            fold(onto, entry)
    except (AssertionError, LookupError, ArithmeticError, ValueError) as error:
        # The fold trusts what was recorded by us; only a file that somebody else wrote to breaks that trust.
        raise JournalRefused(f"session {id} is damaged: its entries do not fit together ({error!r})") from error
    return onto
