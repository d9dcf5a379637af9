"""A server that goes away in the middle of a turn: silent, or refusing; and what the holder of a lease does then."""

import asyncio
import logging
from functools import partial

import psycopg
import pytest
from support.journal_entries import INFO, entry
from support.postgres import new_schema, server_url
from support.silent_proxy import SilentProxy

from bridle import Runtime, RuntimeConfig, ScriptedModel, call, tool
from bridle.core.inbox import TurnOptions
from bridle.errors import JournalFailed, LeaseLost
from bridle.journal import postgres_changes, postgres_pool
from bridle.journal.postgres import PostgresJournal
from bridle.journal.postgres_presence import LeaseTimes

TIMES = LeaseTimes(lease_seconds=60.0, heartbeat_seconds=0.3, deadline_seconds=3.0, answer_seconds=1.0)
"""The lease outlives the test: what has ended by then has ended because its holder gave up."""


def played(*stories):
    """Play stories side by side, each with a proxy, a journal and a schema of its own."""

    async def whole(story):
        async with SilentProxy(server_url()) as proxy:
            schema = new_schema()
            journal = PostgresJournal(proxy.url, schema=schema, times=TIMES)
            await story(proxy, journal, schema)
            await journal.close()

    async def all_of_them():
        # Only a hang takes this long; the driver takes some seconds to give up each silent connection.
        await asyncio.wait_for(asyncio.gather(*map(whole, stories)), 300)

    asyncio.run(all_of_them())


async def executed(query):
    async with await psycopg.AsyncConnection.connect(server_url(), autocommit=True) as connection:
        cursor = await connection.execute(query)
        return await cursor.fetchall() if cursor.description is not None else []


async def go_away(proxy, how):
    if how == "silent":
        proxy.silent.set()
    else:
        await proxy.cut()


def test_effects_end_before_the_lease_when_the_server_is_away():
    ended = []

    async def story(how, proxy, journal, schema):
        begun, over = asyncio.Event(), asyncio.Event()

        @tool
        async def work() -> str:
            """Work for a long time."""
            begun.set()
            try:
                await asyncio.sleep(600)
            finally:
                over.set()
            return "done"

        model = ScriptedModel([call("work")], then="done", ref="m")
        here = Runtime(RuntimeConfig(journal=journal, models={"m": model}, tools=[work]))
        session = await here.create()
        await here.prompt(session, "go", options=TurnOptions(model="m"))
        await begun.wait()
        await go_away(proxy, how)
        await over.wait()
        ended.append(await executed(f"SELECT until > clock_timestamp() FROM {schema}.worker"))
        with pytest.raises(LeaseLost):
            await here.engine.parked(session)
        assert not journal.is_present

    played(partial(story, "silent"), partial(story, "refusing"))
    assert ended == [[(True,)]] * 2


def test_a_holder_comes_back_under_a_new_identity_when_the_server_answers_again():
    async def story(proxy, journal, schema):
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        (before,) = await executed(f"SELECT id FROM {schema}.worker")
        await go_away(proxy, "silent")
        with pytest.raises(LeaseLost):
            await journal.append(lease, entry(2))
        with pytest.raises(LeaseLost):
            await journal.inbox("ses_a")
        # Nothing is heard of this: the lease ends by itself.
        await journal.release(lease)
        proxy.silent.clear()
        await executed(f"UPDATE {schema}.worker SET until = clock_timestamp()")
        again = await journal.acquire("ses_a")
        assert again.epoch > lease.epoch
        (after,) = await executed(f"SELECT holder FROM {schema}.session")
        assert after != before
        await journal.append(again, entry(2))

    played(story)


def test_a_lease_that_cannot_be_released_is_given_up_at_its_deadline():
    async def story(how, proxy, journal, schema):
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        await go_away(proxy, how)
        await journal.release(lease)
        assert await executed(f"SELECT until > clock_timestamp() FROM {schema}.worker") == [(True,)]
        assert not journal.is_present

    played(partial(story, "silent"), partial(story, "refusing"))


def test_a_query_that_gets_no_answer_fails_in_the_end(monkeypatch):
    monkeypatch.setattr(postgres_pool.Pool.rows, "__kwdefaults__", {"seconds": 0.5})

    async def story(proxy, journal, schema):
        await journal.create(INFO)
        await go_away(proxy, "silent")
        with pytest.raises(JournalFailed, match="the server does not answer"):
            await journal.load("ses_a")

    played(story)


def test_a_query_that_is_cancelled_ends_with_that_though_it_gets_no_answer():
    async def story(proxy, journal, schema):
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        await go_away(proxy, "silent")
        works = [journal.inbox("ses_a"), journal.renew(lease), journal.append(lease, entry(2))]
        tasks = [asyncio.ensure_future(work) for work in works]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert [task.cancelled() for task in tasks] == [True] * 3
        assert not journal.is_present

    played(story)


def test_a_server_that_is_away_for_long_is_told_once(monkeypatch, caplog):
    caplog.set_level(logging.DEBUG, postgres_changes.LOG.name)
    monkeypatch.setattr(postgres_changes, "AGAIN_SECONDS", 0.01)

    def told():
        return [record.levelname for record in caplog.records if "the journal is polled" in record.message]

    async def story(proxy, journal, schema):
        await journal.serve(["@"])
        await go_away(proxy, "refusing")
        while len(told()) < 3:
            await asyncio.sleep(0.01)

    played(story)
    assert told()[:3] == ["WARNING", "DEBUG", "DEBUG"]
