"""Journals in files: shared by processes, killed, locked, full, damaged and old."""

import asyncio
import os
import signal
import sqlite3
import stat

import pytest
from support.journal_entries import INFO, entry, story

from bridle.core.events import PartPut, SessionInfo
from bridle.core.inbox import PromptItem
from bridle.core.parts import Notice
from bridle.errors import JournalFailed, JournalFull, JournalRefused, LeaseLost, NoSuchSession
from bridle.journal.sqlite import SqliteJournal


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
            assert await asyncio.wait_for(posted, 60) == [PromptItem("p", "from the other")]
            await here.release(lease)
            assert (await there.acquire("ses_a")).epoch == lease.epoch + 1
            with pytest.raises(LeaseLost):
                await here.append(lease, entry(2))
            await here.close()
            await there.close()

        story(work)

    def test_a_link_to_the_file_leads_to_the_same_leases(self, tmp_path):
        (tmp_path / "link.db").symlink_to(tmp_path / "j.db")

        async def work():
            here, there = SqliteJournal(tmp_path / "j.db"), SqliteJournal(tmp_path / "link.db")
            await here.create(INFO)
            await here.acquire("ses_a")
            assert (await there.acquire("ses_a"), await there.held("ses_a")) == (None, True)
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
            assert await asyncio.wait_for(submitted, 60)
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
            with pytest.raises(JournalFailed, match="cannot be flushed to disk"):
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
