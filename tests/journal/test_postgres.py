"""What a journal on PostgreSQL does beyond the contract: leases that run out, rows that move, a server that fails."""

import asyncio
import os
import signal
import subprocess
import sys

import psycopg
import pytest
from support.journal_entries import INFO, entry
from support.paths import TESTS
from support.postgres import new_schema, server_url

from bridle.core.events import SessionInfo
from bridle.core.inbox import PromptItem
from bridle.core.ledger import Account, AccountChange, BudgetRefused, Reservation
from bridle.core.limits import Limits, Spent
from bridle.errors import JournalFailed, LeaseLost
from bridle.journal.postgres import PostgresJournal
from bridle.journal.postgres_presence import LeaseTimes
from bridle.journal.worker_overview import WAITING

QUICK = LeaseTimes(lease_seconds=2.0, heartbeat_seconds=0.3, deadline_seconds=1.2, answer_seconds=0.5)
PATIENT = 60.0


HOLD = """
import asyncio, sys
from bridle.journal.postgres import PostgresJournal
from bridle.journal.postgres_presence import LeaseTimes

async def hold():
    times = LeaseTimes(lease_seconds=2.0, heartbeat_seconds=0.3, deadline_seconds=1.2)
    journal = PostgresJournal(sys.argv[1], schema=sys.argv[2], times=times)
    assert await journal.acquire("ses_a")
    print("held", flush=True)
    await asyncio.sleep(600)

asyncio.run(hold())
"""


def holder(schema):
    """Start a process that holds the lease of the session."""
    words = [sys.executable, "-c", HOLD, server_url(), schema]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, cwd=TESTS)
    assert process.stdout.readline() == b"held\n"
    return process


@pytest.fixture
def schema():
    return new_schema()


def played(story):
    asyncio.run(asyncio.wait_for(story(), PATIENT))


def opened(schema, times=None):
    return PostgresJournal(server_url(), schema=schema, times=times)


async def executed(query):
    async with await psycopg.AsyncConnection.connect(server_url(), autocommit=True) as connection:
        cursor = await connection.execute(query)
        return await cursor.fetchall() if cursor.description is not None else []


async def eventually(seen):
    while not (found := await seen()):
        await asyncio.sleep(0.05)
    return found


async def begun(journal, session="ses_a"):
    await journal.create(SessionInfo(session, "/p"))
    lease = await journal.acquire(session)
    assert lease is not None
    return lease


def test_a_lease_is_one_among_all_processes_and_passes_on_when_released(schema):
    async def story():
        one, two = opened(schema), opened(schema)
        lease = await begun(one)
        assert await two.acquire("ses_a") is None and await two.held("ses_a")
        mark = await two.changed("ses_a", 0)
        waiting = asyncio.ensure_future(two.changed("ses_a", mark))
        await one.release(lease)
        await waiting
        later = await two.acquire("ses_a")
        assert later is not None and later.epoch == lease.epoch + 1
        with pytest.raises(LeaseLost):
            await one.append(lease, entry(2))
        await one.close()
        await two.close()

    played(story)


@pytest.mark.parametrize(
    "query",
    [WAITING, "SELECT id FROM bridle.session WHERE holder IS NULL AND NOT aside AND wanted < clock_timestamp()"],
    ids=["bridle workers", "the sweep"],
)
def test_what_waits_is_found_by_an_index(schema, query):
    async def story():
        journal = opened(schema)
        await journal.sessions()
        async with await psycopg.AsyncConnection.connect(server_url(), autocommit=True) as connection:
            await connection.execute("SET enable_seqscan = off")
            cursor = await connection.execute(b"EXPLAIN " + journal.server.text(query))
            plan = "\n".join(line for (line,) in await cursor.fetchall())
        assert "session_waiting" in plan and "Seq Scan on session" not in plan
        await journal.close()

    played(story)


def test_a_read_that_is_cancelled_raises_that_and_never_goes_on(schema):
    async def story():
        journal = opened(schema)
        await journal.create(INFO)
        swallowed = []
        for ticks in range(80):
            # More than there are connections: some wait for one, and get it in the moment of their cancellation.
            reads = [asyncio.ensure_future(journal.inbox("ses_a")) for _ in range(12)]
            for _ in range(ticks):
                await asyncio.sleep(0)
            cancelled = [read for read in reads if read.cancel()]
            await asyncio.wait(reads)
            swallowed += [read for read in cancelled if not read.cancelled()]
        assert swallowed == []
        await journal.close()

    played(story)


def test_a_process_that_is_killed_is_taken_over_when_its_lease_has_run_out(schema):
    async def story():
        journal = opened(schema, QUICK)
        await journal.create(INFO)
        process = holder(schema)
        assert await journal.acquire("ses_a") is None
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        # A waiter hears of it although a dead process tells nothing.
        mark = await journal.changed("ses_a", 0)
        while await journal.held("ses_a"):
            mark = await journal.changed("ses_a", mark)
        assert await journal.acquire("ses_a") is not None
        await journal.close()

    played(story)


def test_a_holder_that_cannot_renew_gives_up_before_its_lease_ends_and_comes_back_as_another(schema):
    async def story():
        journal, other = opened(schema, QUICK), opened(schema, QUICK)
        lease = await begun(journal)
        await journal.posted("ses_a")
        presence = journal._presence
        await executed(f"UPDATE {schema}.worker SET until = clock_timestamp() + interval '1 hour'")
        await executed(f"ALTER TABLE {schema}.worker RENAME TO hidden")
        try:
            with pytest.raises(LeaseLost):
                while True:
                    await journal.posted("ses_a")
        finally:
            await executed(f"ALTER TABLE {schema}.hidden RENAME TO worker")
        with pytest.raises(LeaseLost):
            await journal.append(lease, entry(2))
        with pytest.raises(LeaseLost):
            await journal.renew(lease)
        await executed(f"UPDATE {schema}.worker SET until = clock_timestamp() WHERE id = {presence.id}")
        again = await journal.acquire("ses_a")
        assert again.epoch == lease.epoch + 1 and journal._presence.id != presence.id
        await journal.append(again, entry(2))
        await journal.close()
        await other.close()

    played(story)


@pytest.mark.skipif("BRIDLE_TEST_DATABASE" in os.environ, reason="the processes of this server are not ours")
def test_a_holder_whose_server_is_silent_learns_at_its_deadline_that_its_lease_is_lost(schema):
    async def story():
        journal = opened(schema, QUICK)
        lease = await begun(journal)
        await journal.inbox("ses_a")
        ((started,),) = await executed("SELECT pg_read_file('postmaster.pid')")
        working = await executed("SELECT pid FROM pg_stat_activity WHERE application_name = 'bridle'")
        # First the one that would open further connections.
        silent = [int(started.split()[0]), *(pid for (pid,) in working)]
        for pid in silent:
            os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(LeaseLost, match="has not answered in time"):
                while True:
                    await journal.inbox("ses_a")
            with pytest.raises(LeaseLost):
                await journal.renew(lease)
        finally:
            for pid in silent:
                os.kill(pid, signal.SIGCONT)
        await eventually(lambda: journal.acquire("ses_a"))
        await journal.close()

    played(story)


def test_a_lease_that_ran_out_on_the_server_writes_nothing(schema):
    async def story():
        journal = opened(schema)
        lease = await begun(journal)
        await executed(f"UPDATE {schema}.worker SET until = clock_timestamp() - interval '1 second'")
        with pytest.raises(LeaseLost):
            await journal.append(lease, entry(2))
        assert len(await journal.load("ses_a")) == 1
        await journal.close()

    played(story)


def test_two_processes_that_spend_from_one_day_lose_no_cent(schema):
    async def story():
        journals = [opened(schema) for _ in range(3)]
        day = Account("day/one", None, Limits(tokens=10_000), scope="day")

        async def spend(journal, session):
            lease = await begun(journal, session)
            own = Account(f"{session}/1", day.id)
            # All of them open the row of the day at once, as at midnight.
            await journal.append(lease, entry(2), change=AccountChange(own.id, opens=(own, day)))
            for sequence in range(3, 13):
                await journal.append(lease, entry(sequence), change=AccountChange(own.id, charges=Spent(tokens=1)))

        await asyncio.gather(*(spend(journal, f"ses_{at}{n}") for at, journal in enumerate(journals) for n in range(5)))
        assert (await journals[0].account("day/one")).spent.tokens == 150
        for journal in journals:
            await journal.close()

    played(story)


def test_a_refusal_is_confirmed_by_reading_the_rows_again(schema):
    """The other process has settled meanwhile: what this one remembers would refuse."""

    async def story():
        one, two = opened(schema), opened(schema)
        first, second = await begun(one, "ses_a"), await begun(two, "ses_b")
        day = Account("day/one", None, Limits(tokens=100), scope="day")
        a, b = Account("ses_a/1", day.id), Account("ses_b/1", day.id)
        await one.append(first, entry(2), change=AccountChange(a.id, opens=(a, day)))
        held = Reservation("r", Spent(tokens=90))
        await two.append(second, entry(2), change=AccountChange(b.id, opens=(b, day), reserves=held))
        wanted = AccountChange(a.id, reserves=Reservation("q", Spent(tokens=50)))
        with pytest.raises(BudgetRefused):
            await one.append(first, entry(3), change=wanted)
        await two.append(second, entry(3), change=AccountChange(b.id, settles=(("r", Spent(tokens=10)),)))
        await one.append(first, entry(3), change=wanted)
        assert (await two.account("day/one")).reserved.tokens == 50
        await one.close()
        await two.close()

    played(story)


def test_one_append_that_is_refused_or_late_leaves_the_others_of_its_batch(schema):
    async def story():
        journal = opened(schema)
        leases = [await begun(journal, f"ses_{n}") for n in range(4)]
        await executed(f"UPDATE {schema}.session SET epoch = epoch + 1 WHERE id = 'ses_1'")
        poor = Account("ses_2/1", None, Limits(tokens=1))
        changes = {2: AccountChange(poor.id, opens=(poor,), charges=Spent(tokens=5))}
        ends = await asyncio.gather(
            *(journal.append(lease, entry(2), change=changes.get(n)) for n, lease in enumerate(leases)),
            return_exceptions=True,
        )
        assert [type(end) for end in ends] == [type(None), LeaseLost, BudgetRefused, type(None)]
        assert [len(await journal.load(f"ses_{n}")) for n in range(4)] == [2, 1, 1, 2]
        await journal.close()

    played(story)


def test_entries_of_another_process_are_heard_also_after_the_listener_was_cut(schema):
    async def story():
        one, two = opened(schema), opened(schema)
        lease = await begun(one)
        mark = await two.changed("ses_a", 0, every=True)
        for sequence in (2, 3):
            waiting = asyncio.ensure_future(two.changed("ses_a", mark, every=True))
            await asyncio.sleep(0.05)
            await one.append(lease, entry(sequence))
            mark = await waiting
            assert len(await two.load("ses_a")) == sequence
            await executed("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
        await one.close()
        await two.close()

    played(story)


def test_a_server_that_cuts_every_connection_fails_the_append_and_the_next_lease_goes_on(schema):
    async def story():
        journal = opened(schema, QUICK)
        lease = await begun(journal)
        await journal.append(lease, entry(2))
        await executed(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'bridle' AND pid <> pg_backend_pid()"
        )
        with pytest.raises(JournalFailed):
            await journal.append(lease, entry(3))

        async def seen():
            try:
                return await journal.load("ses_a")
            except JournalFailed:
                # Another connection of the pool was cut as well.
                return []

        there = await eventually(seen)
        await journal.append(lease, entry(len(there) + 1))
        assert await journal.submit("ses_a", PromptItem("p", "x"))
        await journal.close()

    played(story)


def test_a_holder_that_only_renames_a_session_leaves_it_waiting_and_set_aside(schema):
    async def story():
        journal = opened(schema)
        await journal.create(INFO)
        await journal.submit("ses_a", PromptItem("p", "x"))
        await executed(f"UPDATE {schema}.session SET deaths = 3")
        state = f"SELECT wanted IS NOT NULL, aside, holder IS NULL FROM {schema}.session"
        lease = await journal.acquire("ses_a")
        assert await executed(state) == [(False, True, False)]
        await journal.release(lease)
        assert await executed(state) == [(True, True, True)]
        # A drive looks into the inbox.
        lease = await journal.acquire("ses_a")
        await journal.inbox("ses_a")
        await journal.release(lease)
        assert await executed(state) == [(False, False, True)]
        await journal.close()

    played(story)


def test_a_wake_is_there_exactly_if_its_item_is(schema):
    async def story():
        journal = opened(schema)
        await journal.create(INFO)
        await executed(f"CREATE TABLE {schema}.woken (session text)")

        async def wake(connection):
            await connection.execute(f"INSERT INTO {schema}.woken VALUES ('ses_a')".encode())

        async def fails(connection):
            await wake(connection)
            raise OSError("the queue is away")

        assert await journal.submit("ses_a", PromptItem("p", "x"), wake=wake)
        with pytest.raises(OSError, match="away"):
            await journal.submit("ses_a", PromptItem("q", "x"), wake=fails)
        assert await executed(f"SELECT count(*) FROM {schema}.woken") == [(1,)]
        assert [item.id for item in await journal.inbox("ses_a")] == ["p"]
        await journal.close()

    played(story)
