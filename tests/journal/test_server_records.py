"""What servers store beside a journal: in memory, in SQLite and on PostgreSQL alike, seen by all processes at once."""

import asyncio

import pytest
from support.postgres import new_schema, server_url

from bridle.core.access import Grant, digest_of
from bridle.journal.memory import MemoryJournal
from bridle.journal.open import open_journal
from bridle.journal.server_records import ServedTurn, server_records
from bridle.seams import Seams


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def make(request, tmp_path):
    if request.param == "memory":
        journal = MemoryJournal()
        records = server_records(journal)
        return lambda: (journal, records)
    schema = new_schema()
    where = tmp_path / "journal.db" if request.param == "sqlite" else server_url()

    def opened():
        journal = open_journal(where, "power", Seams(), schema=schema)
        return journal, server_records(journal)

    return opened


def grant(secret, name, **more):
    more = {"kind": "token", "right": "drive", "place": "here", "created": 1.0, **more}
    return Grant(digest=digest_of(secret), name=name, **more)


def test_grants_are_found_by_their_digest_taken_once_and_revoked_by_name_and_place(make):
    async def story():
        (journal, one), (other_journal, other) = make(), make()
        first, second = grant("a", "ann"), grant("b", "bob", kind="code", expires=9.0)
        elsewhere = grant("c", "ann", place="there")
        for each in (second, first, elsewhere):
            await one.add(each)
        assert await other.find(digest_of("a")) == first
        assert await other.find(digest_of("z")) is None
        assert await other.grants("here") == [first, second]
        taken = await asyncio.gather(*(each.take(digest_of("b")) for each in (one, other, one, other)))
        assert (taken.count(second), taken.count(None)) == (1, 3)
        assert await one.revoke("ann", "here") == [first]
        assert await other.find(digest_of("a")) is None
        assert await other.grants("there") == [elsewhere]
        for each in (journal, other_journal):
            await each.close()

    asyncio.run(story())


def test_served_turns_are_kept_by_session_and_listed_by_place(make):
    async def story():
        journal, records = make()
        turns = [ServedTurn("a", 1, "here", 2.0), ServedTurn("b", 1, "there", 1.0), ServedTurn("c", 4, "here", 1.0)]
        for turn in turns:
            await records.set_served(turn)
        await records.set_served(ServedTurn("a", 2, "here", 3.0))
        assert await records.served("here") == [turns[2], ServedTurn("a", 2, "here", 3.0)]
        await records.end_served("c")
        await records.end_served("c")
        assert await records.served("here") == [ServedTurn("a", 2, "here", 3.0)]
        await journal.close()

    asyncio.run(story())
