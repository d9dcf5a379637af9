"""A journal copied to another one, of its own kind or the other: byte for byte, once, or not at all."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import psycopg
import pytest
from support.journal_entries import entry
from support.journals import TABLES, contents, executed, fill, opened
from support.paths import TESTS
from support.postgres import new_schema, server_url

from bridle.core.budget import Budget, BudgetChange
from bridle.core.events import SessionInfo
from bridle.core.inbox import PromptItem
from bridle.core.ledger import Account, AccountChange
from bridle.core.limits import Limits, Spent
from bridle.errors import ConfigError, JournalRefused
from bridle.journal.address import journal_address
from bridle.runtime.database import check_database, copy_database

PATIENT = 60.0
KINDS = ["sqlite", "postgres"]


def place_of(kind, folder):
    return str(folder / "journal.db") if kind == "sqlite" else new_schema()


def address(place):
    if "/" in place:
        return journal_address(place)
    return journal_address(server_url(), schema=place)


def copied(source, target, progress=lambda done, total: None):
    work = copy_database(address(source), address(target), progress)
    return asyncio.run(asyncio.wait_for(work, PATIENT))


@pytest.fixture(params=[(one, other) for one in KINDS for other in KINDS], ids=" to ".join)
def places(request, tmp_path):
    """A source with sessions, and a target that is not there yet."""
    source, target = (place_of(kind, tmp_path / str(number)) for number, kind in enumerate(request.param))
    fill(source)
    return source, target


def test_a_copy_has_every_byte_and_is_made_once(places):
    source, target = places
    before = contents(source)
    assert all(before[table] for table in TABLES)
    seen = []
    done = copied(source, target, lambda done, total: seen.append((done, total)))
    assert (done.sessions, done.present, done.entries, done.items, done.budgets) == (3, 0, 9, 6, 2)
    assert (done.accounts, done.changed, seen[-1]) == (5, [], (6, 6))
    assert contents(target) == before == contents(source)
    again = copied(source, target)
    assert (again.sessions, again.present) == (0, 3)
    assert contents(target) == before


def test_a_copy_works_like_the_original(places):
    source, target = places
    copied(source, target)

    async def work():
        journal = opened(target)
        lease = await journal.acquire("ses_1")
        assert lease.epoch == 2
        assert not await journal.submit("ses_1", PromptItem("ses_1.first", "again"))
        assert [item.text for item in await journal.inbox("ses_1")] == ["waits"]
        # The reservation of the process that died, and the budget, hold here too.
        assert [account.id for account in await journal.holding("ses_1")] == ["ses_1/1"]
        settled = AccountChange("ses_1/1", settles=(("1.1.1", Spent(tokens=10)),))
        await journal.append(lease, entry(4), change=settled, take=["ses_1.second"])
        day = await journal.account("day/2026-11-19")
        assert (day.spent.tokens, day.reserved.tokens) == (10, 1400)
        assert not await journal.set_budget("shop", BudgetChange(Budget(daily=Limits(cost=4.0)), 9.0))
        await journal.create(SessionInfo("ses_new", "/"))
        assert len(await journal.sessions()) == 4
        await journal.close()

    asyncio.run(work())
    assert asyncio.run(check_database(address(target), deep=True)).sound


def test_a_session_that_is_driven_is_not_copied_and_none_is_copied_over(places):
    for leased in places:
        if leased == places[1]:
            fill(leased, 1)
        before = [contents(place) for place in places[: 1 + places.index(leased)]]

        async def work(leased=leased):
            journal = opened(leased)
            lease = await journal.acquire("ses_0")
            with pytest.raises(JournalRefused, match="ses_0 is being driven now: wait"):
                await copy_database(address(places[0]), address(places[1]), lambda done, total: None)
            await journal.release(lease)
            await journal.close()

        asyncio.run(work())
        after = [contents(place) for place in places[: len(before)]]
        for one, other in zip(before, after, strict=True):
            assert {name: one[name] for name in TABLES[1:]} == {name: other[name] for name in TABLES[1:]}


def change_session(place):
    async def work():
        journal = opened(place)
        lease = await journal.acquire("ses_1")
        await journal.append(lease, entry(4))
        await journal.release(lease)
        await journal.close()

    asyncio.run(work())


def test_a_session_that_is_different_in_the_target_stops_the_copy_before_anything_is_written(places):
    source, target = places
    fill(target, 2)
    change_session(target)
    before = contents(target)
    with pytest.raises(JournalRefused, match="ses_1 is different there; nothing was copied"):
        copied(source, target)
    assert contents(target) == before


def spend(place, session, tokens):
    async def work():
        journal = opened(place)
        await journal.create(SessionInfo(session, "/p", created=1.0))
        lease = await journal.acquire(session)
        day = Account("day/2026-11-19", parent="month/2026-11", limits=Limits(cost=5.0), scope="day")
        opens = (Account(f"{session}/1", parent=day.id), day, Account("month/2026-11", scope="month"))
        change = AccountChange(f"{session}/1", opens=opens, charges=Spent(tokens=tokens))
        await journal.append(lease, entry(2), change=change)
        await journal.release(lease)
        await journal.close()

    asyncio.run(work())


def test_spending_of_other_sessions_in_the_target_is_not_overwritten(places):
    source, target = places
    spend(target, "ses_other", 5)
    before = contents(target)
    with pytest.raises(JournalRefused, match="the spending of day/2026-11-19 is different there; nothing was copied"):
        copied(source, target)
    assert contents(target) == before


def test_spending_of_other_sessions_on_top_of_an_older_copy_is_not_overwritten(places):
    """Although the source has spent more since."""
    source, target = places
    copied(source, target)
    spend(target, "ses_other", 5)
    spend(source, "ses_later", 9)
    with pytest.raises(JournalRefused, match="the spending of day/2026-11-19 is different there"):
        copied(source, target)


def test_an_older_copy_is_continued_with_what_is_new_in_the_source(places):
    source, target = places
    copied(source, target)
    spend(source, "ses_later", 5)
    done = copied(source, target)
    assert (done.sessions, done.present) == (1, 3)
    assert contents(target) == contents(source)


def test_other_budgets_in_the_target_are_not_mixed(places):
    source, target = places

    async def work():
        journal = opened(target)
        await journal.set_budget("shop", BudgetChange(Budget(daily=Limits(cost=9.0)), 1.5))
        await journal.close()

    asyncio.run(work())
    with pytest.raises(JournalRefused, match="the account shop has other budgets there; nothing was copied"):
        copied(source, target)
    assert contents(target)["session"] == []


def test_a_session_that_changes_while_it_is_copied_is_named_and_copied_as_it_was(places):
    source, target = places
    before, changed = contents(source), []

    def change(done, total):
        if not changed:
            changed.append(done)
            run_apart(change_session, source)

    assert copied(source, target, change).changed == ["ses_1"]
    assert contents(target) == before


def run_apart(function, *given):
    """Call a function that runs an event loop of its own."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        pool.submit(function, *given).result()


def test_what_differs_after_the_copy_is_reported(places):
    source, target = places

    def damage(done, total):
        if done == 3:
            write(target, "UPDATE {}entry SET elapsed = 77 WHERE at = 2.25")

    with pytest.raises(JournalRefused, match="session ses_0 is different from the source after the copy"):
        copied(source, target, damage)


def write(place, query):
    if "/" not in place:
        executed(query.format(f"{place}."))
        return
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute(query.format(""))


PROGRAM = """
import asyncio, sys
from bridle.journal.address import JournalAddress, journal_address
from bridle.runtime.database import copy_database

def address(url, place):
    return journal_address(place) if "/" in place else journal_address(url, schema=place)

def told(done, total):
    print(done, total, flush=True)
    # Wait for the death, once a part is there.
    if done == 2:
        sys.stdin.read()

asyncio.run(copy_database(address(*sys.argv[1:3]), address(sys.argv[1], sys.argv[3]), told))
"""


def test_a_copy_that_is_killed_is_continued(places):
    source, target = places
    words = [sys.executable, "-c", PROGRAM, server_url(), source, target]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=TESTS) as process:
        assert [process.stdout.readline() for _ in range(2)] == [b"1 6\n", b"2 6\n"]
        process.send_signal(signal.SIGKILL)
    assert len(contents(target)["session"]) == 2
    done = copied(source, target)
    assert (done.sessions, done.present) == (1, 2)
    assert contents(target) == contents(source)


def test_a_copy_that_is_killed_within_a_session_leaves_nothing_of_it(tmp_path):
    """Its entries are in the server, and the rest of the session waits for a row that another transaction writes."""
    source, target = str(tmp_path / "journal.db"), new_schema()
    fill(source)
    copied(source, target)
    executed(f"DELETE FROM {target}.session WHERE id = 'ses_2'")
    executed(f"DELETE FROM {target}.entry WHERE session = 3")
    executed(f"DELETE FROM {target}.inbox WHERE session = 3")
    executed(f"DELETE FROM {target}.account WHERE id = 'ses_2/1'")
    words = [sys.executable, "-c", PROGRAM.replace("done == 2", "False"), server_url(), source, target]
    with psycopg.connect(server_url()) as other:
        other.execute(f"INSERT INTO {target}.account VALUES ('ses_2/1', 1, false, '')")
        with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=TESTS) as process:
            waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND strpos(query, %s) > 0"
            try:
                until = time.monotonic() + PATIENT
                while not executed(waits, target):
                    assert time.monotonic() < until and process.poll() is None
                    time.sleep(0.02)
            finally:
                process.kill()
        other.rollback()
    theirs = "SELECT 1 FROM pg_stat_activity WHERE strpos(query, %s) > 0 AND pid <> pg_backend_pid()"
    while executed(theirs, target):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert len(contents(target)["session"]) == 2
    assert executed(f"SELECT count(*) FROM {target}.entry WHERE session > 3") == [(0,)]
    copied(source, target)
    assert contents(target) == contents(source)


def test_a_journal_is_not_copied_onto_itself_or_from_nowhere(tmp_path):
    place, schema = str(tmp_path / "journal.db"), new_schema()
    fill(place, 1)
    for one, other, error, words in [
        (place, f"{tmp_path}/../{tmp_path.name}/journal.db", ConfigError, "are the same journal"),
        (schema, schema, ConfigError, "are the same journal"),
        (str(tmp_path / "none.db"), schema, ConfigError, "there is no journal here"),
        (schema, place, JournalRefused, "has no journal"),
    ]:
        with pytest.raises(error, match=words):
            copied(one, other)
    assert not (tmp_path / "none.db").exists()
    assert executed("SELECT count(*) FROM pg_namespace WHERE nspname = %s", schema) == [(0,)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_session_is_found_and_told_with_a_way_out(kind, tmp_path):
    place = place_of(kind, tmp_path)
    fill(place)

    def faults():
        health = asyncio.run(check_database(address(place), deep=True))
        return [finding.text for finding in health.findings if finding.level == "fault"]

    def broken(query, *words):
        write(place, query)
        return [text for text in faults() if any(word in text for word in words)]

    assert faults() == []
    way = "restore the journal from a backup, or delete the session: bridle sessions delete"
    events = "substr(events, 1, 20)" if kind == "sqlite" else "substring(events from 1 for 20)"
    assert [
        text.split(" (")[0] for text in broken(f"UPDATE {{}}entry SET events = {events} WHERE at = 3", "entry 3")
    ] == [f"session ses_{number}: entry 3 cannot be read" for number in range(3)]
    assert all(way in text for text in faults())
    write(place, "DELETE FROM {}entry WHERE at = 3")
    gone = broken("DELETE FROM {}entry WHERE at = 2.25", "ses_0", "ses_1", "ses_2")
    assert len(gone) >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_gap_an_item_and_sums_that_do_not_add_up_are_found(kind, tmp_path):
    for query, words in [
        ("DELETE FROM {}entry WHERE at = 2.25", "session ses_0: entry 2 is missing"),
        ("UPDATE {}inbox SET item = '{{' WHERE id = 'ses_0.second'", "item ses_0.second of its inbox cannot be read"),
        ("UPDATE {}account SET account = '{{' WHERE id = 'ses_0/1'", "account ses_0/1 cannot be read"),
        ("DELETE FROM {}account WHERE id = 'ses_0/1'", "account day/2026-11-19 counts 700 tokens as reserved"),
        ("UPDATE {}budget SET budget = '{{'", "a budget of shop cannot be read"),
    ]:
        folder = tmp_path / words[:20]
        place = place_of(kind, folder)
        fill(place, 1)
        if kind == "sqlite":
            query = query.replace("'{{'", "x'7b'")
        write(place, query)
        health = asyncio.run(check_database(address(place), deep=True))
        assert not health.sound
        assert any(words in finding.text for finding in health.findings), health.findings
        assert asyncio.run(check_database(address(place))).sound


@pytest.mark.parametrize("kind", KINDS)
def test_a_reservation_of_a_turn_that_has_ended_is_found(kind, tmp_path):
    place = place_of(kind, tmp_path)
    spend(place, "ses_a", 5)
    assert asyncio.run(check_database(address(place), deep=True)).sound
    body = '{"id":"ses_a/1","parent":"day/2026-11-19","held":{"1.1.1":{"tokens":3}},"reserved":{"tokens":3}}'
    value = f"CAST('{body}' AS BLOB)" if kind == "sqlite" else f"'{body}'"
    query = f"UPDATE {{}}account SET account = {value} WHERE id = 'ses_a/1'".replace(
        value, value.replace("{", "{{").replace("}", "}}")
    )
    write(place, query)
    texts = [each.text for each in asyncio.run(check_database(address(place), deep=True)).findings]
    assert any("account ses_a/1 holds a reservation (1.1.1), but its turn has ended" in text for text in texts), texts
