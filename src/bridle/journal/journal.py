"""`Journal`: the contract of a storage of sessions (append under a lease, load, follow, inbox, budget ledger)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Annotated, Any, Literal, NamedTuple, Protocol, runtime_checkable

import msgspec

from bridle.core.budget import BudgetChange
from bridle.core.events import Entry, PartDelta, SessionInfo, SessionPut
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


class PageMark(NamedTuple):
    """The place of a session in the list of all: the last change first, then the id."""

    updated: float
    session: str


class SessionRow(msgspec.Struct, frozen=True):
    """A session as shown in a list."""

    info: SessionInfo
    sequence: int
    updated: float

    @property
    def mark(self) -> PageMark:
        """The place in the list, from which the next page begins."""
        return PageMark(self.updated, self.info.id)


class SessionQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The sessions that a list shows; a default leaves none out, except archived ones."""

    text: str = ""
    """Text that the title contains, in any case."""
    directory: str = ""
    state: Literal["", "idle", "busy", "retry", "paused", "interrupted"] = ""
    roots: bool = False
    """Leave out sessions of subagents."""
    pinned: bool = False
    """Only pinned ones."""
    archived: Literal["without", "with", "only"] = "without"
    before: PageMark | None = None
    """The mark of the last row of the page before."""
    limit: Annotated[int, msgspec.Meta(ge=0)] = 0
    """The most rows; 0 means all."""


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

    async def set_budget(self, account: str, change: BudgetChange) -> bool:
        """Store the budget of an account, and make its days and months keep it; durable on return.

        All of them keep it from the next reservation on, in any process. Return False if it is the budget already.
        """

    async def budgets(self, account: str, most: int = 1) -> list[BudgetChange]:
        """Return the last budgets of an account, the one that holds first."""

    async def holding(self, root: str) -> list[Account]:
        """Return the accounts with reservations of turns of this session and below it; without a session, of all."""

    async def sessions(self, query: SessionQuery | None = None) -> list[SessionRow]:
        """Return the sessions that fit, in the order of their marks: the most recently changed first.

        Without a query these are all, archived ones included. The `state` of a query is left to the caller. Decodes
        little more than it returns.
        """

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


def fits(row: SessionRow, query: SessionQuery) -> bool:
    """Return whether a list shows a session; its state is not looked at."""
    info = row.info
    if query.archived != "with" and bool(info.archived) is not (query.archived == "only"):
        return False
    if (query.roots and info.parent) or (query.pinned and not info.pinned):
        return False
    if (query.directory and info.directory != query.directory) or (
        query.before is not None and row.mark >= query.before
    ):
        return False
    return query.text.casefold() in info.title.casefold()


def page(rows: Iterable[SessionRow], query: SessionQuery | None) -> list[SessionRow]:
    """Return the rows that fit, as many as the query wants; takes no more from the iterable."""
    found = (row for row in rows if query is None or fits(row, query))
    return list(islice(found, query.limit or None if query is not None else None))


TakesDelta = Callable[[PartDelta], None]
"""Takes a live delta; must be quick."""


class DeltaRelay(Protocol):
    """Passes live deltas between the processes of a journal. They may be dropped, and nothing waits for them."""

    def send(self, session: str, delta: PartDelta) -> None:
        """Pass a delta of a session that is driven here to its followers in other processes. Returns at once."""

    def hear(self, session: str, take: TakesDelta) -> AbstractContextManager[None]:
        """Call `take` with the deltas of a session that other processes drive, while the context is open."""


@runtime_checkable
class SharesDeltas(Protocol):
    """A `Journal` whose processes see each other's live deltas."""

    @property
    def deltas(self) -> DeltaRelay:
        """The relay of this process."""


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
