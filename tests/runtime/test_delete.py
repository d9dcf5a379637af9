"""Deleting a session whose process died in a request settles its reservation, so that no budget counts it forever."""

import asyncio
import signal

import pytest
from support.cli_home import Home

from bridle.core.limits import NOTHING
from bridle.journal.sqlite import SqliteJournal


@pytest.fixture
def home(tmp_path):
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    made = Home(tmp_path / "home", project)
    made.environment["BRIDLE_LIMITS__DAILY__TOKENS"] = "900000"
    return made


def accounts_that_hold(home):
    async def found():
        journal = SqliteJournal(home.folder / ".local" / "share" / "bridle" / "journal.db")
        held = await journal.holding("")
        periods = {account.id: account for row in held for account in [await journal.account(row.parent)]}
        await journal.close()
        return held, list(periods.values())

    return asyncio.run(found())


def test_a_deleted_session_leaves_no_reservation_in_its_day(home):
    model = home.script({"text": "half", "hang": True})
    dying = home.start("run", "--format", "json", "--model", model, "go")
    while (line := dying.stdout.readline()) and '"step_start"' not in line:
        pass
    assert line, dying.communicate()
    dying.send_signal(signal.SIGKILL)
    dying.communicate()
    (turn,), (day,) = accounts_that_hold(home)
    assert day.id.startswith("day/") and day.reserved == turn.reserved != NOTHING
    done = home.run("sessions", "delete", turn.id.partition("/")[0], "--yes")
    assert done.returncode == 0, done.stderr

    async def after():
        journal = SqliteJournal(home.folder / ".local" / "share" / "bridle" / "journal.db")
        found = await journal.holding(""), await journal.account(day.id)
        await journal.close()
        return found

    held, day_after = asyncio.run(after())
    # The request may have been billed: the worst case counts as spent.
    assert (held, day_after.reserved, day_after.spent.tokens) == ([], NOTHING, day.reserved.tokens)
