"""A journal file that one process has open twice, as two runtimes on one file do."""

import asyncio
import subprocess
import sys

from bridle.core.events import SessionInfo
from bridle.core.inbox import AbortItem
from bridle.journal.sqlite import SqliteJournal

LOOK = """
import asyncio, sys
from pathlib import Path
from bridle.core.inbox import AbortItem
from bridle.journal.sqlite import SqliteJournal

async def look():
    journal = SqliteJournal(Path(sys.argv[1]))
    await journal.sessions()
    await journal.submit("a", AbortItem(sys.argv[2]))
    print(*(item.id for item in await journal.inbox("a")))
    await journal.close()

asyncio.run(look())
"""


def test_another_process_that_leaves_does_not_take_the_log_away(tmp_path):
    """The last process to close a file deletes its log, so that it must see that this one has it open."""
    path = tmp_path / "journal.db"

    def elsewhere(id):
        words = [sys.executable, "-c", LOOK, str(path), id]
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.split()

    async def story():
        one, two = SqliteJournal(path), SqliteJournal(path)
        await one.create(SessionInfo("a", "/p"))
        assert len(await two.sessions()) == 1
        assert elsewhere("first") == ["first"]
        assert await one.submit("a", AbortItem("ours"))
        assert elsewhere("last") == ["first", "ours", "last"]
        for journal in (one, two):
            await journal.close()

    asyncio.run(story())
