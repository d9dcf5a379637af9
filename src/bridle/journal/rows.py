"""`Rows`: the protocol to copy and check a journal: its sessions and ledger are read and written as stored.

`copy` and `check_rows` use it; sessions that run use `Journal`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Protocol

import msgspec

from bridle.core.ids import read_account

EntryRow = tuple[int, float, float, bytes]
"""Sequence, time, elapsed seconds and events of an entry."""
ItemRow = tuple[str, bytes | None]
"""Id and content of an inbox item; None for one that was taken."""
AccountRow = tuple[str, bytes]
"""Id and content of a ledger account."""


class WholeSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session with everything that belongs to it, as stored."""

    id: str
    info: bytes
    epoch: int
    entries: tuple[EntryRow, ...]
    items: tuple[ItemRow, ...]
    accounts: tuple[AccountRow, ...]

    @property
    def size(self) -> int:
        """The bytes of its entries."""
        return sum(len(events) for _, _, _, events in self.entries)

    @property
    def digest(self) -> bytes:
        """A hash of everything except the epoch, which each new lease raises."""
        content = (self.id, self.info, self.entries, self.items, self.accounts)
        return hashlib.sha256(msgspec.msgpack.encode(content)).digest()


class BudgetRow(msgspec.Struct, frozen=True):
    """A stored budget of an account, and when it was set."""

    owner: str
    at: float
    budget: bytes


class Ledger(msgspec.Struct, frozen=True):
    """The accounts that belong to no session, such as days and months, and all budgets, oldest first."""

    accounts: tuple[AccountRow, ...]
    budgets: tuple[BudgetRow, ...]


class SessionMark(msgspec.Struct, frozen=True):
    """What changes with every change of a session."""

    id: str
    epoch: int
    sequence: int
    item: int


class Rows(Protocol):
    """A journal that is read and written by rows. Methods may raise `JournalError`.

    Opened as a snapshot, it is only read, and all reads see one state.
    """

    place: str
    """The address without user and password."""

    async def marks(self) -> list[SessionMark]:
        """Return a mark of each session, in the order of their creation."""

    async def leased(self) -> list[str]:
        """Return the sessions that a process drives now."""

    async def session(self, id: str) -> WholeSession | None:
        """Return a session; None if there is none of this id."""

    async def ledger(self, sessions: Collection[str]) -> Ledger:
        """Return the accounts of none of these sessions, and all budgets."""

    async def add_session(self, session: WholeSession) -> bool:
        """Write a session in one transaction, durable on return; return False if there is one of its id."""

    async def set_ledger(self, ledger: Ledger) -> None:
        """Write these accounts in place of those of the same id, and add these budgets, in one transaction."""

    async def renew(self) -> None:
        """End the snapshot, and begin another one."""

    async def close(self) -> None:
        """Release the connection. May be called twice."""


def without(accounts: Collection[AccountRow], sessions: Collection[str]) -> tuple[AccountRow, ...]:
    """Return the accounts that belong to no turn of these sessions."""
    found = ((id, body, read_account(id)) for id, body in accounts)
    return tuple((id, body) for id, body, turn in found if turn is None or turn.session not in sessions)
