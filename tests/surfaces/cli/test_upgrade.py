"""Journals of Bridle 0.1 at the command line: brought up to date, resumed; and what an older Bridle says of today's."""

import shutil
import sqlite3
import sys
from contextlib import closing

import pytest
from data.journals.reading import unpack
from support.paths import ROOT

from bridle.journal.database import migrations

NEWEST = len(migrations())
OLD = "import sys; sys.path.insert(0, sys.argv.pop(1)); from bridle.surfaces.cli.main import main; main()"


@pytest.fixture
def journal(home):
    """The place of the person's journal."""
    path = home.folder / ".local/share/bridle/journal.db"
    path.parent.mkdir(parents=True)
    return path


def schema(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def test_a_journal_of_the_first_release_is_brought_up_to_date_and_its_session_goes_on(home, journal):
    unpack("answered", journal.parent)
    assert schema(journal) == 1
    told = home.run("doctor").stdout
    assert "✗ schema 1 of an older release" in told and "✓ 1 session can be read" in told
    assert schema(journal) == NEWEST
    assert f"✓ schema {NEWEST}" in home.run("doctor").stdout
    assert "It was a long answer" in home.run("show", "ses_one").stdout
    done = home.run("run", "--session", "ses_one", "--model", home.script("Still here."), "and now?")
    assert (done.returncode, done.stdout) == (0, "Still here.\n")
    assert home.run("replay", "ses_one").returncode == 0


def test_a_session_that_crashed_in_the_first_release_is_settled_and_goes_on(home, journal):
    unpack("crash_running", journal.parent)
    done = home.run("resume", "ses_one")
    # Its model was of a Python program, which is not here.
    assert (done.returncode, "The turn failed: there is no model 'm'" in done.stderr) == (1, True)
    assert done.stderr.count("Its outcome is unknown") == 2
    done = home.run("run", "--session", "ses_one", "--model", home.script("Recovered."), "continue")
    assert (done.returncode, done.stdout) == (0, "Recovered.\n"), done.stderr
    assert home.run("replay", "ses_one").returncode == 0


@pytest.fixture
def older(tmp_path):
    """Bridle as it would be without the newest migration."""
    folder = tmp_path / "older"
    shutil.copytree(ROOT / "src", folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "bridle" / "journal" / "migrations" / f"{NEWEST:04}.sql").unlink()
    return lambda home, *words: home.started(sys.executable, "-c", OLD, folder, *words)


def test_an_older_bridle_reads_a_newer_journal_and_says_what_to_do(home, journal, older):
    assert home.run("run", "--model", home.script("One."), "go").stdout == "One.\n"
    written = f"the journal was written by a newer Bridle (schema {NEWEST}); it is open for reading only. Update Bridle"
    done = older(home, "run", "--model", home.script("Two."), "go")
    assert (done.returncode, done.stdout, written in done.stderr) == (1, "", True)
    listed = older(home, "sessions")
    assert (listed.returncode, "go" in listed.stdout, written in listed.stderr) == (0, True, True)
    told = older(home, "doctor").stdout
    assert f"a newer Bridle (schema {NEWEST}): update Bridle" in told and "✓ 1 session can be read" in told
    assert home.run("show").stdout.count("One.") == 1
