"""One contract, every journal."""

import asyncio
import os
import signal
import sqlite3
import stat

import pytest

from bridle.core.events import Entry, PartPut, SessionInfo, SessionPut
from bridle.core.inbox import AbortItem, PromptItem
from bridle.core.ledger import Account, AccountChange, BudgetRefused, Reservation, TreeLimits
from bridle.core.limits import NOTHING, Limits, Spent
from bridle.core.parts import Notice
from bridle.errors import JournalFailed, JournalFull, JournalRefused, LeaseLost, NoSuchSession
from bridle.journal.memory import MemoryJournal
from bridle.journal.sqlite import SqliteJournal

INFO = SessionInfo("ses_a", "/project", created=1.0)


@pytest.fixture(params=["memory", "sqlite", "sqlite process"])
def make(request, tmp_path):
    """A function that opens the journal, and opens it again as another process would."""
    shared = MemoryJournal()

    def open_journal():
        if request.param == "memory":
            return shared
        durability = "process" if request.param.endswith("process") else "power"
        return SqliteJournal(tmp_path / "journal.db", durability=durability)

    return open_journal


def note(n):
    return PartPut(Notice(f"n{n}", "test", f"text {n}"))


def entry(sequence, *events):
    return Entry(sequence, float(sequence), 0.0, events or (note(sequence),))


def story(work):
    asyncio.run(work())


def test_what_was_appended_is_loaded_in_order(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        for sequence in (2, 3, 4):
            await journal.append(lease, entry(sequence), weight="intent" if sequence == 3 else "plain")
        expected = [Entry(1, 1.0, 0.0, (SessionPut(INFO),)), entry(2), entry(3), entry(4)]
        assert await journal.load("ses_a") == expected
        assert await journal.load("ses_a", 2) == expected[2:]
        await journal.release(lease)
        await journal.close()
        if not isinstance(journal, MemoryJournal):
            again = make()
            assert await again.load("ses_a") == expected
            await again.close()

    story(work)


def test_an_old_epoch_and_a_wrong_sequence_are_refused_and_nothing_is_written(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        old = await journal.acquire("ses_a")
        assert await journal.acquire("ses_a") is None
        assert await journal.held("ses_a")
        await journal.release(old)
        assert not await journal.held("ses_a")
        new = await journal.acquire("ses_a")
        assert new.epoch > old.epoch
        await journal.release(old)
        assert await journal.held("ses_a")
        for lease, wrong in ((old, 2), (new, 3), (new, 1)):
            with pytest.raises(LeaseLost):
                await journal.append(lease, entry(wrong))
        assert len(await journal.load("ses_a")) == 1
        await journal.append(new, entry(2))
        await journal.close()

    story(work)


def test_an_item_is_one_item_however_often_it_is_submitted_and_taken_with_its_entry(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        first, second = PromptItem("p1", "one"), PromptItem("p2", "two")
        assert await journal.submit("ses_a", first)
        assert await journal.submit("ses_a", second)
        assert not await journal.submit("ses_a", PromptItem("p1", "one again"))
        assert await journal.inbox("ses_a") == [first, second]
        lease = await journal.acquire("ses_a")
        await journal.append(lease, entry(2), take=["p1", "never came"])
        assert await journal.inbox("ses_a") == [second]
        assert not await journal.submit("ses_a", first)
        assert not await journal.submit("ses_a", PromptItem("never came", "too late"))
        with pytest.raises(LeaseLost):
            await journal.append(lease, entry(9), take=["p2"])
        assert await journal.inbox("ses_a") == [second]
        await journal.close()

    story(work)


def test_reservations_hold_on_every_ancestor_and_come_and_go_with_their_entry(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        root, child = Account("root", None, Limits(tokens=100)), Account("child", "root", Limits(tokens=80))
        await journal.append(lease, entry(2), change=AccountChange("root", opens=(root,)))
        await journal.append(lease, entry(3), change=AccountChange("child", opens=(child,)))
        held = Reservation("r1", Spent(steps=1, tokens=60))
        await journal.append(lease, entry(4), change=AccountChange("child", reserves=held))
        assert (await journal.account("child")).held == {"r1": held.amount}
        assert (await journal.account("root")).reserved == held.amount
        with pytest.raises(BudgetRefused) as refused:
            more = Reservation("r2", Spent(tokens=50))
            await journal.append(lease, entry(5), change=AccountChange("root", reserves=more))
        short = refused.value.shortage
        assert (short.account, short.limit, short.fits_now, short.fits_later) == ("root", "tokens", 40, 100)
        assert len(await journal.load("ses_a")) == 4
        await journal.append(
            lease, entry(5), change=AccountChange("child", settles=(("r1", Spent(steps=1, tokens=30)),))
        )
        for id in ("root", "child"):
            account = await journal.account(id)
            assert (account.spent, account.reserved, account.held) == (Spent(steps=1, tokens=30), NOTHING, {})
        await journal.append(lease, entry(6), change=AccountChange("child", settles=(("r1", Spent(tokens=30)),)))
        assert (await journal.account("root")).spent.tokens == 30
        await journal.close()

    story(work)


def test_a_refused_change_leaves_settlements_of_the_same_append_undone(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        await journal.append(
            lease, entry(2), change=AccountChange("a", opens=(Account("a", None, Limits(tokens=100)),))
        )
        held = Reservation("r1", Spent(tokens=60))
        await journal.append(lease, entry(3), change=AccountChange("a", reserves=held))
        both = AccountChange("a", settles=(("r1", Spent(tokens=60)),), reserves=Reservation("r2", Spent(tokens=50)))
        with pytest.raises(BudgetRefused):
            await journal.append(lease, entry(4), change=both)
        account = await journal.account("a")
        assert (account.held, account.reserved, account.spent) == ({"r1": held.amount}, held.amount, NOTHING)
        await journal.close()

    story(work)


def test_held_entries_are_written_with_the_next_one_or_not_at_all(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        await journal.append(
            lease, entry(2), change=AccountChange("a", opens=(Account("a", None, Limits(tokens=100)),))
        )
        await journal.append(lease, entry(3), change=AccountChange("a", reserves=Reservation("r1", Spent(tokens=60))))
        settles = (("r1", Spent(tokens=60)),)
        with pytest.raises(BudgetRefused):
            more = AccountChange("a", settles=settles, reserves=Reservation("r2", Spent(tokens=50)))
            await journal.append(lease, entry(5), change=more, before=[entry(4)])
        assert len(await journal.load("ses_a")) == 3
        assert (await journal.account("a")).held == {"r1": Spent(tokens=60)}
        fits = AccountChange("a", settles=settles, reserves=Reservation("r2", Spent(tokens=40)))
        await journal.append(lease, entry(5), change=fits, before=[entry(4)])
        assert [found.sequence for found in await journal.load("ses_a")] == [1, 2, 3, 4, 5]
        account = await journal.account("a")
        assert (account.spent, account.held) == (Spent(tokens=60), {"r2": Spent(tokens=40)})
        with pytest.raises(LeaseLost):
            await journal.append(lease, entry(7), before=[entry(8)])
        await journal.close()

    story(work)


def test_accounts_that_hold_something_are_found_by_the_session_at_their_top(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        for place, id in enumerate(("ses_a/1", "ses_a.1/1", "ses_b/1", "ses_a.2/1", "ses_ab/1"), 2):
            await journal.append(lease, entry(place), change=AccountChange(id, opens=(Account(id),)))
        for place, id in enumerate(("ses_a.1/1", "ses_b/1", "ses_ab/1"), 7):
            held = AccountChange(id, reserves=Reservation("r", Spent(tokens=1)))
            await journal.append(lease, entry(place), change=held)
        assert [account.id for account in await journal.holding("ses_a")] == ["ses_a.1/1"]
        assert sorted(account.id for account in await journal.holding("")) == ["ses_a.1/1", "ses_ab/1", "ses_b/1"]
        await journal.close()

    story(work)


def test_subagents_take_places_and_a_child_lends_its_own(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        root = Account("root", None, tree=TreeLimits(live=2, total=4))
        child = Account("child", "root")
        await journal.append(lease, entry(2), change=AccountChange("root", opens=(root,)))
        with pytest.raises(BudgetRefused) as refused:
            await journal.append(lease, entry(3), change=AccountChange("root", starts=3))
        assert (refused.value.shortage.limit, refused.value.shortage.fits_now) == ("live", 2)
        await journal.append(lease, entry(3), change=AccountChange("root", starts=2, opens=()))
        await journal.append(lease, entry(4), change=AccountChange("child", opens=(child,)))
        # The first grandchild works in the place of its parent, which awaits it; a second one would need its own.
        with pytest.raises(BudgetRefused) as refused:
            await journal.append(lease, entry(5), change=AccountChange("child", starts=2))
        assert (refused.value.shortage.limit, refused.value.shortage.fits_now) == ("live", 1)
        await journal.append(lease, entry(5), change=AccountChange("child", starts=1))
        account = await journal.account("root")
        assert (account.live, account.total, account.children) == (2, 3, 2)
        await journal.append(
            lease, entry(6), change=AccountChange("grandchild", opens=(Account("grandchild", "child"),))
        )
        await journal.append(lease, entry(7), change=AccountChange("grandchild", closes=True))
        assert (await journal.account("root")).live == 2
        await journal.append(lease, entry(8), change=AccountChange("child", closes=True))
        assert (await journal.account("root")).live == 1
        with pytest.raises(BudgetRefused) as refused:
            await journal.append(lease, entry(9), change=AccountChange("root", starts=2))
        assert refused.value.shortage.limit == "total"
        await journal.close()

    story(work)


def test_a_charge_is_checked_against_the_trees_limits(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        root = Account("root", None, tree=TreeLimits(tool_calls=3))
        await journal.append(lease, entry(2), change=AccountChange("root", opens=(root,)))
        await journal.append(lease, entry(3), change=AccountChange("root", charges=Spent(tool_calls=2)))
        with pytest.raises(BudgetRefused) as refused:
            await journal.append(lease, entry(4), change=AccountChange("root", charges=Spent(tool_calls=2)))
        assert (refused.value.shortage.scope, refused.value.shortage.fits_now) == ("tree", 1)
        await journal.append(lease, entry(4), change=AccountChange("root", limits=Limits(tokens=5)))
        assert (await journal.account("root")).limits == Limits(tokens=5)
        await journal.close()

    story(work)


def test_many_sessions_append_at_once_and_none_is_mixed_up(make):
    async def work():
        journal = make()

        async def one(index):
            id = f"ses_{index}"
            await journal.create(SessionInfo(id, "/p", created=float(index)))
            lease = await journal.acquire(id)
            for sequence in range(2, 12):
                await journal.append(lease, entry(sequence), weight="intent" if sequence % 2 else "plain")
            await journal.release(lease)

        await asyncio.gather(*(one(index) for index in range(20)))
        for index in range(20):
            assert [found.sequence for found in await journal.load(f"ses_{index}")] == list(range(1, 12))
        assert {row.info.id for row in await journal.sessions()} == {f"ses_{index}" for index in range(20)}
        await journal.close()

    story(work)


def test_a_watcher_hears_of_items(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        if not isinstance(journal, MemoryJournal):
            await journal.posted("ses_a")
        posted = asyncio.ensure_future(journal.posted("ses_a"))
        await asyncio.sleep(0.01)
        await journal.submit("ses_a", AbortItem("x"))
        await asyncio.wait_for(posted, 5)
        await journal.close()

    story(work)


def test_an_unknown_session_is_said_to_be_unknown(make):
    async def work():
        journal = make()
        for ask in (journal.load, journal.inbox, journal.acquire):
            with pytest.raises(NoSuchSession, match="ses_none"):
                await ask("ses_none")
        await journal.close()

    story(work)


def test_a_deleted_session_is_gone_and_what_the_day_has_spent_is_not(make):
    async def work():
        journal = make()
        for id in ("ses_a", "ses_b"):
            await journal.create(SessionInfo(id, "/p"))
            lease = await journal.acquire(id)
            day = Account("day/one", None, scope="day")
            opens = AccountChange(f"{id}/1", opens=(Account(f"{id}/1", day.id), day), charges=Spent(tokens=5))
            await journal.append(lease, entry(2), change=opens)
            await journal.submit(id, PromptItem("p", "x"))
            await journal.release(lease)
        before = await journal.size("ses_b")
        lease = await journal.acquire("ses_a")
        await journal.delete(lease)
        await journal.release(lease)
        for ask in (journal.load, journal.inbox, journal.acquire, journal.size):
            with pytest.raises(NoSuchSession, match="ses_a"):
                await ask("ses_a")
        assert await journal.account("ses_a/1") is None
        assert (await journal.account("day/one")).spent.tokens == 10
        assert [row.info.id for row in await journal.sessions()] == ["ses_b"]
        # Another session never takes the place of one that somebody may still know.
        await journal.create(SessionInfo("ses_c", "/p"))
        await journal.create(SessionInfo("ses_a", "/q"))
        assert len(await journal.load("ses_a")) == 1
        await journal.shrink()
        assert await journal.size("ses_b") == before > 0
        await journal.close()

    story(work)


def test_an_old_lease_deletes_nothing(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        old = await journal.acquire("ses_a")
        await journal.release(old)
        await journal.acquire("ses_a")
        with pytest.raises(LeaseLost):
            await journal.delete(old)
        assert len(await journal.load("ses_a")) == 1
        await journal.close()

    story(work)


class TestSqlite:
    def test_a_session_deleted_in_one_process_is_unknown_in_the_other(self, tmp_path):
        async def work():
            here, there = (SqliteJournal(tmp_path / "j.db") for _ in range(2))
            await here.create(INFO)
            assert len(await there.load("ses_a")) == 1
            lease = await here.acquire("ses_a")
            await here.delete(lease)
            await here.release(lease)
            await here.create(SessionInfo("ses_b", "/p"))
            with pytest.raises(NoSuchSession):
                await there.load("ses_a")
            for journal in (here, there):
                await journal.close()

        story(work)

    def test_two_processes_share_one_file_but_not_one_session(self, tmp_path):
        async def work():
            here, there = (SqliteJournal(tmp_path / "j.db") for _ in range(2))
            await here.create(INFO)
            lease = await here.acquire("ses_a")
            assert await there.acquire("ses_a") is None
            assert await there.held("ses_a")
            posted = asyncio.ensure_future(_hears(here))
            await there.submit("ses_a", PromptItem("p", "from the other"))
            assert await asyncio.wait_for(posted, 5) == [PromptItem("p", "from the other")]
            await here.release(lease)
            assert (await there.acquire("ses_a")).epoch == lease.epoch + 1
            with pytest.raises(LeaseLost):
                await here.append(lease, entry(2))
            await here.close()
            await there.close()

        story(work)

    def test_files_are_for_their_owner_alone(self, tmp_path):
        async def work():
            journal = SqliteJournal(tmp_path / "private" / "j.db")
            await journal.create(INFO)
            await journal.acquire("ses_a")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "private").iterdir()}
            assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}
            assert "j.db.reserve" in modes
            await journal.close()

        story(work)

    def test_a_newer_journal_opens_for_reading_only(self, tmp_path):
        async def work():
            path = tmp_path / "j.db"
            journal = SqliteJournal(path)
            await journal.create(INFO)
            await journal.close()
            with sqlite3.connect(path) as raw:
                raw.execute("PRAGMA user_version = 99")
            raw.close()
            newer = SqliteJournal(path)
            assert "written by a newer Bridle (schema 99)" in newer.notice
            assert len(await newer.load("ses_a")) == 1
            with pytest.raises(JournalRefused, match="newer"):
                await newer.submit("ses_a", PromptItem("p", "x"))
            await newer.close()

        story(work)

    @pytest.mark.parametrize("damage", ["no database", "cut short", "another program's"])
    def test_a_damaged_journal_is_refused_and_left_as_it_is(self, tmp_path, damage):
        path = tmp_path / "j.db"
        if damage == "another program's":
            with sqlite3.connect(path) as raw:
                raw.execute("CREATE TABLE mine (x)")
            raw.close()
        elif damage == "no database":
            path.write_bytes(b"this is not a database at all, but it is long enough to be read as one" * 40)
        else:
            story(lambda: _make(path))
            path.write_bytes(path.read_bytes()[:3_000])
        before = path.read_bytes()
        journal = SqliteJournal(path)
        with pytest.raises(JournalRefused, match=str(path)):
            story(journal.sessions)
        assert path.read_bytes() == before

    def test_a_full_disk_refuses_intents_and_still_takes_an_ending_from_the_reserve(self, tmp_path):
        async def work():
            journal = SqliteJournal(tmp_path / "j.db")
            await journal.create(INFO)
            lease = await journal.acquire("ses_a")
            writer = journal._database.writer
            (pages,) = writer.execute("PRAGMA page_count").fetchone()
            writer.execute(f"PRAGMA max_page_count = {pages}")
            big = PartPut(Notice("big", "test", "x" * 200_000))
            with pytest.raises(JournalFull, match="the disk is full"):
                await journal.append(lease, entry(2, big), weight="intent")
            assert await journal.load("ses_a", 1) == []
            freed = journal._database.free_reserve

            def free():
                writer.execute(f"PRAGMA max_page_count = {pages + 1_000}")
                return freed()

            journal._database.free_reserve = free
            await journal.append(lease, entry(2, big), weight="ending")
            assert not (tmp_path / "j.db.reserve").exists()
            assert len(await journal.load("ses_a")) == 2
            await journal.close()

        story(work)

    def test_a_locked_file_delays_a_commit_but_does_not_hold_up_the_loop(self, tmp_path):
        async def work():
            journal = SqliteJournal(tmp_path / "j.db", durability="process")
            await journal.create(INFO)
            other = sqlite3.connect(tmp_path / "j.db", isolation_level=None, check_same_thread=False)
            other.execute("BEGIN IMMEDIATE")
            submitted = asyncio.ensure_future(journal.submit("ses_a", PromptItem("p", "x")))
            await asyncio.sleep(0.2)
            assert not submitted.done()
            other.execute("COMMIT")
            assert await asyncio.wait_for(submitted, 5)
            other.close()
            await journal.close()

        story(work)

    def test_on_a_slow_disk_all_who_wait_are_served_by_one_flush(self, tmp_path):
        async def work():
            journal = SqliteJournal(tmp_path / "j.db")
            await journal.create(INFO)
            journal._sync._seconds = 1.0
            flushes = []
            flush = journal._sync._flush
            journal._sync._flush = lambda: flushes.append(flush())
            items = [PromptItem(f"p{n}", "x") for n in range(30)]
            assert await asyncio.gather(*(journal.submit("ses_a", item) for item in items)) == [True] * 30
            assert 1 <= len(flushes) <= 3
            assert len(await journal.inbox("ses_a")) == 30
            await journal.close()

        story(work)

    def test_a_disk_that_cannot_be_flushed_is_a_failure_and_not_a_promise(self, tmp_path):
        async def work():
            journal = SqliteJournal(tmp_path / "j.db")
            await journal.create(INFO)
            await journal.submit("ses_a", PromptItem("p", "x"))
            os.close(journal._sync._handle)
            with pytest.raises(JournalFailed, match="cannot be made to last"):
                await journal.submit("ses_a", PromptItem("q", "x"))
            journal._sync._handle = -1
            assert await journal.submit("ses_a", PromptItem("r", "x"))
            await journal.close()

        story(work)

    def test_a_lock_dies_with_its_process(self, tmp_path):
        async def work():
            journal = SqliteJournal(tmp_path / "j.db")
            await journal.create(INFO)
            await journal.close()

        story(work)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                journal = SqliteJournal(tmp_path / "j.db")
                asyncio.run(journal.acquire("ses_a"))
                os.write(writing, b"held")
                signal.pause()
            finally:
                os._exit(1)
        assert os.read(reading, 4) == b"held"

        async def after():
            journal = SqliteJournal(tmp_path / "j.db")
            assert await journal.acquire("ses_a") is None
            kill(child)
            assert (await journal.acquire("ses_a")).epoch == 2
            await journal.close()

        story(after)


def kill(process):
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


async def _hears(journal):
    while not await journal.inbox("ses_a"):
        await journal.posted("ses_a")
    return await journal.inbox("ses_a")


async def _make(path):
    journal = SqliteJournal(path)
    await journal.create(INFO)
    await journal.close()
