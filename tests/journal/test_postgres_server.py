"""Servers as they are: roles with few rights, full disks, time limits, old and new versions, pools, services."""

import asyncio

import psycopg
import pytest
from psycopg import AsyncConnection
from support.journal_entries import INFO, entry
from support.postgres import address_with, new_schema, server_url
from support.silent_proxy import SilentProxy

from bridle.core.events import SessionInfo
from bridle.core.inbox import PromptItem
from bridle.core.ledger import Account, AccountChange
from bridle.core.limits import Limits
from bridle.errors import ConfigError, JournalFailed, JournalFull, JournalRefused
from bridle.journal import postgres_server
from bridle.journal.postgres import PostgresJournal
from bridle.journal.postgres_server import Server


@pytest.fixture
def schema():
    return new_schema()


def played(story):
    asyncio.run(asyncio.wait_for(story(), 60))


async def executed(*queries):
    async with await AsyncConnection.connect(server_url(), autocommit=True) as connection:
        for query in queries:
            await connection.execute(query)


async def used(journal, session):
    """Do once what a worker does with a journal."""
    await journal.serve(["@"])
    await journal.create(SessionInfo(session, "/p"))
    lease = await journal.acquire(session)
    day = Account(f"day/{session}", None, Limits(tokens=100), scope="day", owner="user")
    own = Account(f"{session}/1", day.id)
    await journal.append(lease, entry(2), change=AccountChange(own.id, opens=(own, day)))
    await journal.submit(session, PromptItem("p", "x"), wake=journal.wakes.enqueue(session))
    assert await journal.wakes.pending(session) and len(await journal.inbox(session)) == 1
    await journal.wakes.sweep(0.0)
    await journal.wakes.clear()
    await journal.renew(lease)
    await journal.release(lease)
    assert len(await journal.load(session)) == 2


TAKEN_BY_THE_DEAD = """
SET search_path = {0}_queue;
WITH dead AS (
    INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour') RETURNING id
)
UPDATE procrastinate_jobs SET status = 'doing', worker_id = dead.id FROM dead
"""


@pytest.mark.parametrize("held", [False, True])
def test_a_wake_is_repeated_if_its_worker_died_before_the_lease_was_taken(schema, held):
    async def story():
        journal = PostgresJournal(server_url(), schema=schema)
        await journal.serve(["@"])
        await journal.create(SessionInfo("ses_a", "/p"))
        await journal.wakes.wake(["ses_a"], held_prompts=held)
        jobs = f"SELECT status::text, (args ->> 'held')::boolean FROM {schema}_queue.procrastinate_jobs"
        for _ in range(2):
            await executed(TAKEN_BY_THE_DEAD.format(schema))
            await journal.wakes.clear()
            assert await journal.rows(jobs) == [("todo", held)]
        # Not for ever: it may be what kills its workers.
        await executed(TAKEN_BY_THE_DEAD.format(schema), f"UPDATE {schema}.session SET deaths = 3")
        await journal.wakes.clear()
        assert await journal.rows(jobs) == []
        await journal.close()

    played(story)


GRANTS = """
GRANT USAGE ON SCHEMA {0}, {0}_queue TO {0}_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {0}, {0}_queue TO {0}_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA {0}, {0}_queue TO {0}_app;
"""


def test_a_role_that_may_only_read_and_write_rows_is_enough(schema):
    async def story():
        owner = PostgresJournal(server_url(), schema=schema)
        await owner.serve(["@"])
        await executed(f"CREATE ROLE {schema}_app LOGIN")
        url = address_with(user=f"{schema}_app")
        stranger = PostgresJournal(url, schema=schema)
        with pytest.raises(JournalFailed, match="the role of this connection lacks a right"):
            await stranger.sessions()
        await executed(GRANTS.format(schema))
        await used(stranger, "ses_a")
        await executed(f"REVOKE USAGE ON SCHEMA {schema}_queue FROM {schema}_app")
        with pytest.raises(JournalRefused, match="this role may not use their schema"):
            await stranger.submit("ses_a", PromptItem("q", "x"), wake=stranger.wakes.enqueue("ses_a"))
        assert [item.id for item in await stranger.inbox("ses_a")] == ["p"]
        await stranger.close()
        await owner.close()
        await executed(f"DROP OWNED BY {schema}_app", f"DROP ROLE {schema}_app")

    played(story)


FULL = """
CREATE FUNCTION {0}.full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON {0}.entry EXECUTE FUNCTION {0}.full();
"""


def test_a_full_disk_refuses_the_append_and_leaves_the_lease(schema):
    async def story():
        journal = PostgresJournal(server_url(), schema=schema)
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        await executed(FULL.format(schema))
        with pytest.raises(JournalFull, match=r"the server has no room left .*No space left"):
            await journal.append(lease, entry(2))
        await executed(f"DROP TRIGGER full_disk ON {schema}.entry")
        await journal.append(lease, entry(2))
        await journal.close()

    played(story)


def test_a_statement_that_the_server_cuts_short_is_a_failure_and_the_next_one_succeeds(schema):
    async def story():
        owner = PostgresJournal(server_url(), schema=schema)
        await owner.create(INFO)
        journal = PostgresJournal(address_with(options="-cstatement_timeout%3D200"), schema=schema)
        lease = await journal.acquire("ses_a")
        async with await AsyncConnection.connect(server_url()) as other:
            await other.execute(f"LOCK TABLE {schema}.session IN EXCLUSIVE MODE")
            with pytest.raises(JournalFailed, match="statement timeout"):
                await journal.append(lease, entry(2))
        await journal.append(lease, entry(2))
        await journal.close()
        await owner.close()

    played(story)


def test_a_server_that_is_too_old_says_which_is_needed(schema, monkeypatch):
    monkeypatch.setattr(postgres_server, "OLDEST_SERVER", 990_000)

    async def story():
        journal = PostgresJournal(server_url(), schema=schema)
        with pytest.raises(JournalRefused, match=r"PostgreSQL \d+ is too old: Bridle needs 99 or newer"):
            await journal.sessions()
        await journal.close()

    played(story)


NEWER = """
ALTER TABLE {0}.session ADD COLUMN tenant text NOT NULL DEFAULT '';
ALTER TABLE {0}.entry ADD COLUMN size integer;
ALTER TABLE {0}.account ADD COLUMN tenant text NOT NULL DEFAULT '';
ALTER TABLE {0}.worker ADD COLUMN release text NOT NULL DEFAULT '';
ALTER TABLE {0}.inbox ADD COLUMN tenant text NOT NULL DEFAULT '';
CREATE FUNCTION {0}.append_v2() RETURNS void LANGUAGE sql AS 'SELECT';
UPDATE {0}.version SET number = 99;
"""


def test_two_releases_share_tables_while_the_newer_one_only_adds_to_them(schema):
    async def story():
        older, late = PostgresJournal(server_url(), schema=schema), PostgresJournal(server_url(), schema=schema)
        await used(older, "ses_a")
        await executed(NEWER.format(schema))
        # A process that was there before, and one that starts now.
        await used(older, "ses_b")
        await used(late, "ses_c")
        await older.close()
        await late.close()

    played(story)


def test_a_pool_of_connections_needs_no_second_address_and_is_polled(schema, monkeypatch):
    """Pgbouncer names processes of its own making, prepares nothing, and passes no notification on."""

    async def pooled(connection):
        return True

    monkeypatch.setattr(postgres_server, "is_pooled", pooled)

    async def story():
        one, two = PostgresJournal(server_url(), schema=schema), PostgresJournal(server_url(), schema=schema)
        await one.create(INFO)
        lease = await one.acquire("ses_a")
        mark = await two.changed("ses_a", 0, every=True)
        waiting = asyncio.ensure_future(two.changed("ses_a", mark, every=True))
        await one.append(lease, entry(2))
        await waiting
        async with await one.server.connect() as connection:
            assert (connection.prepare_threshold, two._changes.hears) == (None, False)
        await one.close()
        await two.close()

    played(story)


@pytest.mark.parametrize(
    ("url", "environment", "place"),
    [
        ("postgresql://ann:secret@db.example/agents", {}, "postgresql://db.example/agents"),
        ("postgresql://", {"PGHOST": "db.example", "PGDATABASE": "agents"}, "postgresql://db.example/agents"),
        ("postgresql:///?service=mine", {}, "postgresql:///?service=mine"),
    ],
)
def test_messages_name_the_server_that_libpq_finds(url, environment, place, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Server(url).place == place


def test_parameters_of_libpq_are_taken_as_they_are(tmp_path, monkeypatch):
    """A service file is read, TLS is wanted where the address says so, and unknown words are refused."""
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    server = psycopg.conninfo.conninfo_to_dict(server_url())
    (tmp_path / "services").write_text("[mine]\n" + "".join(f"{key}={value}\n" for key, value in server.items()))

    async def story():
        async with await Server("postgresql:///?service=mine").connect() as connection:
            assert connection.info.dbname == server["dbname"]
        async with SilentProxy(server_url()) as proxy:
            async with await Server(proxy.url).connect():
                pass
            with pytest.raises(JournalFailed, match=r"SSL was required|root certificate file .* does not exist"):
                await Server(f"{proxy.url}?sslmode=verify-full&sslrootcert={tmp_path}/none").connect()

    with pytest.raises(ConfigError, match=r"journal.url is not a PostgreSQL address: .*tls"):
        Server("postgresql://localhost/x?tls=on")
    played(story)
