"""`ServerRecords`: tables of HTTP servers beside a journal: rights of clients, and open turns that a server drives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import msgspec

from bridle.core.access import Grant
from bridle.journal.journal import Journal
from bridle.journal.memory import MemoryJournal
from bridle.journal.sqlite import SqliteJournal

FIND = "SELECT body FROM {}access_grant WHERE digest = {}"
LIST = "SELECT body FROM {}access_grant WHERE place = {} ORDER BY name, digest"
ADD = "INSERT INTO {}access_grant (digest, name, place, body) VALUES ({}, {}, {}, {})"
TAKE = "DELETE FROM {}access_grant WHERE digest = {} RETURNING body"
REVOKE = "DELETE FROM {}access_grant WHERE name = {} AND place = {} RETURNING body"
SET_SERVED = (
    "INSERT INTO {}served_turn (session, turn, place, at) VALUES ({}, {}, {}, {}) "
    "ON CONFLICT (session) DO UPDATE SET turn = excluded.turn, place = excluded.place, at = excluded.at"
)
END_SERVED = "DELETE FROM {}served_turn WHERE session = {} RETURNING turn"
SERVED = "SELECT session, turn, place, at FROM {}served_turn WHERE place = {} ORDER BY at"


class ServedTurn(msgspec.Struct, frozen=True):
    """A turn that a server at this place drove, and when it was last seen to."""

    session: str
    turn: int
    place: str
    at: float


class ServerRecords(Protocol):
    """Rights of clients, and turns that servers drive. Methods raise `JournalError`; what they write is durable."""

    async def add(self, grant: Grant) -> None:
        """Store a grant."""

    async def find(self, digest: str) -> Grant | None:
        """Return the grant with this digest."""

    async def take(self, digest: str) -> Grant | None:
        """Delete the grant with this digest and return it: of several callers, one gets it."""

    async def grants(self, place: str) -> list[Grant]:
        """Return all grants of a place."""

    async def revoke(self, name: str, place: str) -> list[Grant]:
        """Delete and return the grants of a name at a place."""

    async def set_served(self, turn: ServedTurn) -> None:
        """Note the turn of a session that a server drives."""

    async def end_served(self, session: str) -> None:
        """Forget the turn of a session; does nothing if there is none."""

    async def served(self, place: str) -> list[ServedTurn]:
        """Return the turns that servers of a place have driven and not ended."""


Rows = Callable[[str, Sequence[Any]], Awaitable[list[tuple[Any, ...]]]]


class TableRecords:
    """The records in tables of a database; see `ServerRecords`."""

    def __init__(self, rows: Rows, schema: str, mark: str) -> None:
        self._run = rows
        self._schema = schema
        self._mark = mark

    async def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        marks = [self._mark] * (query.count("{}") - 1)
        return await self._run(query.format(self._schema, *marks), values)

    async def add(self, grant: Grant) -> None:
        await self._rows(ADD, grant.digest, grant.name, grant.place, msgspec.json.encode(grant))

    async def find(self, digest: str) -> Grant | None:
        return next(_grants(await self._rows(FIND, digest)), None)

    async def take(self, digest: str) -> Grant | None:
        return next(_grants(await self._rows(TAKE, digest)), None)

    async def grants(self, place: str) -> list[Grant]:
        return list(_grants(await self._rows(LIST, place)))

    async def revoke(self, name: str, place: str) -> list[Grant]:
        return list(_grants(await self._rows(REVOKE, name, place)))

    async def set_served(self, turn: ServedTurn) -> None:
        await self._rows(f"{SET_SERVED} RETURNING turn", turn.session, turn.turn, turn.place, turn.at)

    async def end_served(self, session: str) -> None:
        await self._rows(END_SERVED, session)

    async def served(self, place: str) -> list[ServedTurn]:
        return [ServedTurn(*row) for row in await self._rows(SERVED, place)]


class MemoryRecords:
    """The records of a server whose journal is in memory; see `ServerRecords`."""

    def __init__(self) -> None:
        self._grants: dict[str, Grant] = {}
        self._served: dict[str, ServedTurn] = {}

    async def add(self, grant: Grant) -> None:
        self._grants[grant.digest] = grant

    async def find(self, digest: str) -> Grant | None:
        return self._grants.get(digest)

    async def take(self, digest: str) -> Grant | None:
        return self._grants.pop(digest, None)

    async def grants(self, place: str) -> list[Grant]:
        found = [grant for grant in self._grants.values() if grant.place == place]
        return sorted(found, key=lambda grant: (grant.name, grant.digest))

    async def revoke(self, name: str, place: str) -> list[Grant]:
        gone = [grant for grant in await self.grants(place) if grant.name == name]
        for grant in gone:
            del self._grants[grant.digest]
        return gone

    async def set_served(self, turn: ServedTurn) -> None:
        self._served[turn.session] = turn

    async def end_served(self, session: str) -> None:
        self._served.pop(session, None)

    async def served(self, place: str) -> list[ServedTurn]:
        return sorted((turn for turn in self._served.values() if turn.place == place), key=lambda turn: turn.at)


def server_records(journal: Journal) -> ServerRecords:
    """Return the records beside a journal, in its own database."""
    if isinstance(journal, MemoryJournal):
        return MemoryRecords()
    if isinstance(journal, SqliteJournal):
        return TableRecords(journal.rows, "", "?")
    # Imported only for this kind of journal: its driver is an extra.
    from bridle.journal.postgres import PostgresJournal

    assert isinstance(journal, PostgresJournal), journal
    return TableRecords(journal.rows, "bridle.", "%s")


def _grants(rows: Sequence[tuple[Any, ...]]) -> Any:
    return (msgspec.json.decode(bytes(body), type=Grant) for (body,) in rows)
