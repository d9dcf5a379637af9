"""The contract of a journal: append under a lease, load, follow, inbox, ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import msgspec

from bridle.core.events import Entry, SessionInfo, SessionPut
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
    """A session as shown in a list."""

    info: SessionInfo
    sequence: int
    updated: float


class Journal(Protocol):
    """Sessions, their inboxes, their leases and the ledger, in one place and one transaction.

    Methods may raise `JournalError`. After `JournalFailed` the append is stored whole or not at all, and only a load
    tells which; the caller drops its session then. Once `append` or `submit` has returned, the data survives the death
    of the process; durable data also a power loss. A journal connects on first use: constructing one neither fails nor
    touches a file.
    """

    async def create(self, info: SessionInfo) -> None:
        """Create a session with its first entry; does nothing if the id exists."""

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
        """Write an entry, the entries held before it, their ledger change and the taking of inbox items, or nothing.

        An item that never came may be taken: it then counts as submitted. Raises `LeaseLost` if the epoch is old or the
        sequence is not the next, `BudgetRefused` if a reservation or a charge has no room, `JournalFull` if the disk is
        full. Only `record.py` calls this.
        """

    async def load(self, session: str, after: int = 0) -> list[Entry]:
        """Return the entries after a sequence number, in order; raises `NoSuchSession`."""

    async def submit(self, session: str, item: InboxItem, *, wake: Wake | None = None) -> bool:
        """Put an item into the inbox; durable on return. Return False if its id was submitted before, taken or not.

        `wake` is called in the same transaction, also for an item that is not new; if it raises, nothing is submitted.
        """

    async def inbox(self, session: str) -> list[InboxItem]:
        """Return the items not yet taken, in the order of their submission."""

    async def acquire(self, session: str) -> Lease | None:
        """Return the lease with a new epoch; None while another process holds it. Freed when its process dies."""

    async def renew(self, lease: Lease) -> None:
        """Extend the lease, where leases expire; raises `LeaseLost` if another process has it."""

    async def release(self, lease: Lease) -> None:
        """Release the lease. May be called twice."""

    async def held(self, session: str) -> bool:
        """Return whether a process holds the lease of this session."""

    async def posted(self, session: str) -> None:
        """Return once an item may have come into the inbox since the last call; may return spuriously."""

    async def changed(self, session: str, since: int, *, every: bool = False) -> int:
        """Return a mark other than `since` once a turn may have ended, the lease may be free or an item may have come.

        With `every`, return once anything may have been recorded. May return spuriously. Marks begin with 0, and are
        valid for one kind of call and one journal. Any number of callers may wait at once.
        """

    async def account(self, id: str) -> Account | None:
        """Return a row of the ledger, with the reservations that it holds."""

    async def holding(self, root: str) -> list[Account]:
        """Return the accounts with reservations of turns of this session and below it; without a session, of all."""

    async def sessions(self) -> list[SessionRow]:
        """Return all sessions, the most recently changed first."""

    async def delete(self, lease: Lease) -> None:
        """Delete a session, its inbox and the accounts of its turns; the spending of days and months stays.

        Raises `LeaseLost` if the epoch is old.
        """

    async def size(self, session: str) -> int:
        """Return the approximate size of a session's entries in bytes."""

    async def shrink(self) -> None:
        """Free the space of deleted sessions; raises `JournalFailed` if others are writing."""

    async def close(self) -> None:
        """Release files and leases. Called by the opener of the journal; may be called twice."""


def session_entry(info: SessionInfo) -> Entry:
    """Return the first entry of a session."""
    return Entry(1, info.created, 0.0, (SessionPut(info),))


def folded(id: str, entries: Sequence[Entry], onto: Session) -> Session:
    """Return the session with these entries applied; raises `JournalRefused` if they do not fit together."""
    try:
        for entry in visible(entries):
            fold(onto, entry)
    except (AssertionError, LookupError, ArithmeticError, ValueError) as error:
        # The fold trusts its own records; only a file written by another program breaks that trust.
        raise JournalRefused(f"session {id} is damaged: its entries do not fit together ({error!r})") from error
    return onto
