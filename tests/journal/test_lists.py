"""Lists of sessions: in pages, by title and directory, without archived ones; the same from every journal."""

import asyncio
import sqlite3

import pytest
from support.journal_entries import story
from support.postgres import new_schema, server_url

from bridle.core.events import SessionInfo
from bridle.journal.journal import PageMark, SessionQuery, SessionRow, page
from bridle.journal.memory import MemoryJournal
from bridle.journal.postgres import PostgresJournal
from bridle.journal.sqlite import SqliteJournal

KNOWN = [
    SessionInfo("a", "/one", "Über den Berg", 1.0),
    SessionInfo("b", "/one", "under the hill", 2.0, pinned=True),
    SessionInfo("c", "/one/below", "Over the hill", 3.0),
    # Two of the same time: the id decides.
    SessionInfo("d", "/one", "Title with /one in it", 4.0, archived=9.0),
    SessionInfo("e", '/o"ne', "", 4.0),
    SessionInfo("c.1", "/one", "A subagent", 5.0, parent="c"),
]
QUERIES = [
    (None, "c.1 e d c b a"),
    (SessionQuery(), "c.1 e c b a"),
    (SessionQuery(roots=True), "e c b a"),
    (SessionQuery(archived="with"), "c.1 e d c b a"),
    (SessionQuery(archived="only"), "d"),
    (SessionQuery(pinned=True), "b"),
    (SessionQuery(directory="/one"), "c.1 b a"),
    (SessionQuery(directory='/o"ne'), "e"),
    (SessionQuery(directory="/nowhere"), ""),
    (SessionQuery(text="THE HILL"), "c b"),
    (SessionQuery(text="ÜBER"), "a"),
    (SessionQuery(text="/one"), ""),
    (SessionQuery(limit=2), "c.1 e"),
    (SessionQuery(limit=2, before=PageMark(4.0, "e")), "c b"),
    (SessionQuery(limit=2, before=PageMark(4.0, "e"), archived="with"), "d c"),
    (SessionQuery(limit=9, before=PageMark(1.0, "a")), ""),
    (SessionQuery(limit=1, text="hill", directory="/one"), "b"),
]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def journal(request, tmp_path):
    if request.param == "memory":
        return MemoryJournal()
    if request.param == "sqlite":
        return SqliteJournal(tmp_path / "journal.db")
    return PostgresJournal(server_url(), schema=new_schema())


def test_a_list_has_the_sessions_that_fit_in_one_order(journal):
    async def work():
        for info in KNOWN:
            await journal.create(info)
        for query, expected in QUERIES:
            rows = await journal.sessions(query)
            assert " ".join(row.info.id for row in rows) == expected, query
            assert all(row.info in KNOWN and row.sequence == 1 and row.updated == row.info.created for row in rows)
        await journal.close()

    story(work)


def test_pages_together_are_the_whole_list_also_where_most_do_not_fit(journal, monkeypatch):
    monkeypatch.setattr("bridle.journal.postgres_lists.LISTED_AT_ONCE", 4)

    async def work():
        for number in range(40):
            title = "wanted" if number % 7 == 0 else "other"
            await journal.create(SessionInfo(f"s{number:02}", "/", title, float(number // 3)))
        for text, size in (("", 40), ("wanted", 6)):
            for limit in (1, 3, 7):
                found, before = [], None
                for _ in range(50):
                    rows = await journal.sessions(SessionQuery(text=text, limit=limit, before=before))
                    assert len(rows) <= limit
                    if not rows:
                        break
                    found, before = found + [row.info.id for row in rows], rows[-1].mark
                assert found == sorted(found, reverse=True) and len(set(found)) == size
        await journal.close()

    story(work)


def test_a_page_of_many_sessions_is_one_query(tmp_path, monkeypatch):
    seen = []

    def connect(*given, **named):
        connection = sqlite3_connect(*given, **named)
        connection.set_trace_callback(seen.append)
        return connection

    async def work():
        journal = SqliteJournal(tmp_path / "journal.db")
        await asyncio.gather(*(journal.create(SessionInfo(f"s{number:04}", "/", "t")) for number in range(2_000)))
        seen.clear()
        assert len(await journal.sessions(SessionQuery(limit=50))) == 50
        assert len(seen) == 1, seen
        await journal.close()

    sqlite3_connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", connect)
    story(work)


def test_a_page_takes_no_more_rows_than_it_shows():
    rows = iter([SessionRow(SessionInfo(f"s{number}", "/"), 1, -float(number)) for number in range(9)])
    assert [row.info.id for row in page(rows, SessionQuery(limit=3))] == ["s0", "s1", "s2"]
    assert next(rows).info.id == "s3"
