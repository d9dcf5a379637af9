"""Opening a journal on PostgreSQL: many at once, newer schemas, servers that are down, addresses that are none."""

import asyncio

import psycopg
import pytest
from support.journal_entries import INFO
from support.postgres import address_with, new_schema, server_url

from bridle.core.events import SessionInfo
from bridle.errors import ConfigError, JournalFailed, JournalRefused
from bridle.journal.open import open_journal
from bridle.journal.postgres import PostgresJournal
from bridle.seams import Seams


@pytest.fixture
def schema():
    return new_schema()


def played(story):
    asyncio.run(asyncio.wait_for(story(), 60))


def opened(schema):
    return PostgresJournal(server_url(), schema=schema)


async def executed(query):
    async with await psycopg.AsyncConnection.connect(server_url(), autocommit=True) as connection:
        await connection.execute(query)


def test_many_processes_may_begin_at_once_on_an_empty_database(schema):
    async def story():
        journals = [opened(schema) for _ in range(6)]
        await asyncio.gather(*(journal.create(INFO) for journal in journals))
        assert [len(await journal.sessions()) for journal in journals] == [1] * 6
        for journal in journals:
            await journal.close()

    played(story)


def test_a_journal_of_a_newer_release_is_refused(schema):
    async def story():
        journal = opened(schema)
        await journal.create(INFO)
        await journal.close()
        await executed(f"UPDATE {schema}.version SET number = 99")
        shared = opened(schema)
        assert len(await shared.sessions()) == 1
        await shared.close()
        await executed(f"UPDATE {schema}.version SET needs = 99")
        newer = opened(schema)
        with pytest.raises(JournalRefused, match=r"newer Bridle \(schema 99\): update Bridle"):
            await newer.sessions()
        await newer.close()

    played(story)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://localhost:1/none", "localhost/none: .*refused"),
        ("postgresql:///none?host=/nowhere", "none: .*No such file"),
    ],
)
def test_a_server_that_is_down_is_named_without_the_password(url, words):
    async def story():
        journal = open_journal(url.replace("://", "://ann:secret@", 1), "power", Seams())
        with pytest.raises(JournalFailed, match=words) as told:
            await journal.sessions()
        assert "secret" not in str(told.value)
        await journal.close()

    played(story)


@pytest.mark.parametrize(
    ("url", "schema", "words"),
    [
        ("postgresql://[bad", "bridle", "journal.url is not a PostgreSQL address"),
        ("postgresql://localhost/x", "a; drop", "journal.schema must be lower-case letters"),
    ],
)
def test_an_address_that_is_none_is_refused_when_the_journal_is_made(url, schema, words):
    with pytest.raises(ConfigError, match=words):
        open_journal(url, "power", Seams(), schema=schema)


def test_a_server_that_takes_no_writes_says_what_to_do(schema):
    async def story():
        journal = opened(schema)
        await journal.create(INFO)
        await journal.close()
        reader = PostgresJournal(address_with(options="-cdefault_transaction_read_only%3Don"), schema=schema)
        assert len(await reader.sessions()) == 1
        with pytest.raises(JournalFailed, match="read-only: give the address of the primary"):
            await reader.create(SessionInfo("ses_b", "/p"))
        await reader.close()

    played(story)
