"""`Append`: one append to a journal on PostgreSQL, and the function of the server that writes a batch of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bridle.core.events import Entry, SessionInfo, SessionPut
from bridle.core.ledger import AccountChange
from bridle.journal.wakes import queue_of
from bridle.wire import entries as wire

MOST_TOLD = 7_900
"""PostgreSQL refuses longer notifications."""
ANY_SESSION = "*"
_OF_BATCH = ("boolean", "bigint", "text", "text")
_OF_SESSIONS = ("bigint[]", "bigint[]", "integer[]", "integer[]", "integer[]", "float8[]")
_OF_ENTRIES = ("bigint[]", "integer[]", "float8[]", "float8[]", "bytea[]")
_OF_ACCOUNTS = ("text[]", "bigint[]", "boolean[]", "bytea[]")
_OF_OWNERS = ("text[]", "bigint[]")
_OF_REST = ("bigint[]", "text[]", "bigint[]", "bytea[]", "text[]")
_TYPES = (*_OF_BATCH, *_OF_SESSIONS, *_OF_ENTRIES, *_OF_ACCOUNTS, *_OF_OWNERS, *_OF_REST)
# Arrays in binary: as text, the driver would search each element for what needs quotes.
_PLACES = (f"{'%b' if kind.endswith('[]') else '%s'}::{kind}" for kind in _TYPES)
APPEND = f"SELECT * FROM bridle.append_v1({', '.join(_PLACES)})"


class Holder(Protocol):
    """The identity under which a lease is held; see `Presence`."""

    id: int

    @property
    def seconds_left(self) -> float: ...

    @property
    def there(self) -> bool: ...


@dataclass(slots=True)
class Append:
    """One append that waits for its batch."""

    session: str
    number: int
    epoch: int
    holder: Holder
    entries: Sequence[Entry]
    change: AccountChange | None
    take: Sequence[str]
    durable: bool
    ends: bool
    done: asyncio.Future[None]
    confirmed: bool = False
    """Whether a refusal was computed from rows that were read for it."""


def announcement(sessions: Iterable[tuple[int, bool]]) -> str:
    """Return the text that announces changed sessions: their numbers, marked where a turn has ended."""
    words = ",".join(f"!{number}" if ends else f"{number}" for number, ends in sessions)
    return words if len(words) <= MOST_TOLD else ANY_SESSION


def session_columns(appends: Sequence[Append], channel: str) -> tuple[object, ...]:
    """Return the first arguments of the function: how to commit, what to announce, the sessions and their entries."""
    entries = [(append.number, entry) for append in appends for entry in append.entries]
    return (
        any(append.durable for append in appends),
        appends[0].holder.id,
        channel,
        announcement((append.number, append.ends) for append in appends),
        [append.number for append in appends],
        [append.epoch for append in appends],
        [append.entries[0].sequence for append in appends],
        [append.entries[-1].sequence for append in appends],
        [int(append.ends) for append in appends],
        [append.entries[-1].at for append in appends],
        [number for number, _ in entries],
        [entry.sequence for _, entry in entries],
        [entry.at for _, entry in entries],
        [entry.elapsed for _, entry in entries],
        [wire.encode_events(entry) for _, entry in entries],
    )


def extra_columns(appends: Sequence[Append]) -> tuple[object, ...]:
    """Return the taken inbox items and the changed descriptions of sessions as columns."""
    taken = [(append.number, item) for append in appends for item in append.take]
    infos: dict[int, SessionInfo] = {}
    for append in appends:
        for entry in append.entries:
            for event in entry.events:
                if isinstance(event, SessionPut):
                    infos[append.number] = event.info
    bodies, queues = [wire.encode(info) for info in infos.values()], [queue_of(info) for info in infos.values()]
    return [number for number, _ in taken], [item for _, item in taken], [*infos], bodies, queues
