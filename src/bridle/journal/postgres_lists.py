"""Reads pages of the list of sessions on PostgreSQL, for `PostgresJournal`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from bridle.core.events import SessionInfo
from bridle.journal import postgres_queries as queries
from bridle.journal.journal import PageMark, SessionQuery, SessionRow, page

LISTED_AT_ONCE = 200

ReadRows = Callable[[str, Mapping[str, Any]], Awaitable[list[tuple[Any, ...]]]]
"""Runs a query with its values."""


async def list_sessions(read: ReadRows, query: SessionQuery | None) -> list[SessionRow]:
    """Return the sessions that fit; raises `JournalError`, and `ValueError` for rows that cannot be read."""
    if query is None:
        return await _listed(read, None, b"", None)
    found: list[SessionRow] = []
    # As written in the record, to leave most of the others on the server.
    directory = b'"directory":' + msgspec.json.encode(query.directory) if query.directory else b""
    before, most = query.before, max(query.limit, LISTED_AT_ONCE) if query.limit else None
    while True:
        rows = await _listed(read, before, directory, most)
        left = msgspec.structs.replace(query, limit=query.limit and query.limit - len(found))
        found += page(rows, left)
        if most is None or len(rows) < most or len(found) >= query.limit:
            return found
        before = rows[-1].mark


async def _listed(read: ReadRows, before: PageMark | None, directory: bytes, most: int | None) -> list[SessionRow]:
    at, id = before if before is not None else (None, "")
    rows = await read(queries.SESSIONS, {"at": at, "id": id, "directory": directory, "most": most})
    return [
        SessionRow(msgspec.json.decode(info, type=SessionInfo), sequence, updated) for info, sequence, updated in rows
    ]
