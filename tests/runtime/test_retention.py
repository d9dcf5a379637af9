"""Sessions over weeks: listed when they were interrupted, counted, deleted when they are old or too much."""

import os
import sqlite3
import time

import pytest
from support.cli_home import calls

from bridle.errors import SnapshotFailed
from bridle.snapshots.git import Git
from bridle.snapshots.git_process import Leash
from bridle.snapshots.pins import REFS, SnapshotPins
from bridle.snapshots.repository import Bounds, Repository


def journal_of(home):
    return home.folder / ".local" / "share" / "bridle" / "journal.db"


def session_of(home, *replies, prompt="go", more=()):
    script = home.script(*replies, {"text": "Done."})
    _, lines = home.json("--model", script, "--on-ask", "allow", *more, prompt)
    return lines[-1]["session"]


def aged(home, session, days):
    """Let a session have rested for so many days."""
    with sqlite3.connect(journal_of(home)) as database:
        (number,) = database.execute("SELECT number FROM session WHERE id = ?", (session,)).fetchone()
        database.execute(
            "UPDATE entry SET at = at - ? WHERE key BETWEEN ? AND ?",
            (days * 86_400, number << 32, (number + 1) << 32),
        )
    database.close()


def listed(home, *more):
    return [line.split()[0] for line in home.run("sessions", *more).stdout.splitlines()]


def test_a_deleted_session_takes_its_subagents_outputs_and_snapshots_with_it(home):
    task = {"description": "d", "prompt": "count", "subagent_type": "general"}
    session = session_of(home, calls(("bash", {"command": "seq 9000 > x; seq 9000"}), ("task", task)))
    other = session_of(home, {"text": "Other."})
    outputs = home.folder / ".local" / "state" / "bridle" / "outputs"
    assert list(outputs.rglob("*.txt")) and len(listed(home, "--all")) == 3
    refused = home.run("sessions", "delete", session)
    assert (refused.returncode, "confirm with --yes" in refused.stderr) == (2, True)
    done = home.run("sessions", "delete", session, "--yes")
    assert (done.returncode, done.stdout.count("deleted: ")) == (0, 2)
    assert (listed(home, "--all"), list(outputs.rglob("*.txt"))) == ([other], [])
    assert refs_of(home) == []
    again = home.run("sessions", "delete", session, "--yes")
    assert (again.returncode, again.stderr) == (2, f"bridle: there is no session {session}\n")
    assert home.run("undo", session).returncode == 2


def refs_of(home):
    found = []
    for folder in (home.folder / ".local" / "share" / "bridle" / "snapshots").iterdir():
        with Leash() as leash:
            git = Git(folder, home.project, home.project, os.environ["PATH"], leash)
            found += git.run("for-each-ref", "--format=%(refname)", REFS).decode().split()
    return found


def test_old_sessions_go_and_unfinished_ones_stay(home):
    old, new = session_of(home, {"text": "Old."}), session_of(home, {"text": "New."})
    script = home.script(calls(("bash", {"command": "touch x"})), {"text": "Done."})
    _, lines = home.json("--model", script, "--on-ask", "pause", "go")
    paused = lines[-1]["session"]
    assert lines[-1]["reason"] == "paused"
    aged(home, old, 40)
    aged(home, paused, 40)
    assert home.anew("sessions", "prune").returncode == 2
    assert home.anew("sessions", "prune", "--days", "30", "--yes").stdout == "deleted: 1 session\n"
    assert set(listed(home)) == {new, paused}


def test_what_is_too_much_goes_oldest_first_and_the_file_gets_smaller(home):
    long = {"text": "word " * 100_000}
    first, second, third = (session_of(home, long, prompt=f"{n}") for n in range(3))
    before = journal_of(home).stat().st_size
    assert home.anew("sessions", "prune", "--megabytes", "1.2", "--yes").stdout == "deleted: 1 session\n"
    assert listed(home) == [third, second] and first not in listed(home)
    assert journal_of(home).stat().st_size < before * 0.8


def test_the_settings_delete_once_a_day_without_being_asked(home):
    configured = home.folder / ".config" / "bridle" / "config.toml"
    configured.parent.mkdir(parents=True)
    configured.write_text("[sessions]\nkeep_days = 30\n")
    old = session_of(home, {"text": "Old."})
    aged(home, old, 31)
    stamp = home.folder / ".local" / "state" / "bridle" / "pruned"
    session_of(home, {"text": "Later the same day."})
    assert old in listed(home), "it was looked for today already"
    os.utime(stamp, (time.time() - 90_000,) * 2)
    session_of(home, {"text": "The next day."})
    assert old not in listed(home)


def test_a_project_deletes_no_sessions_even_if_it_is_trusted(home):
    (home.project / "bridle.toml").write_text("[sessions]\nkeep_days = 1\n")
    assert "sessions is ignored: only your own configuration deletes any" in home.run("agents", "--trust").stderr
    old = session_of(home, {"text": "Old."}, more=("--trust",))
    aged(home, old, 9)
    home.run("run", "--trust", "--model", home.script({"text": "New."}), "go")
    assert old in listed(home)


@pytest.fixture
def kept(tmp_path):
    (tmp_path / "tree").mkdir()
    environment = dict(os.environ) | {"HOME": str(tmp_path)}
    with Leash() as leash:
        git = Git(tmp_path / "git", tmp_path / "tree", tmp_path / "tree", os.environ["PATH"], leash)
        yield Repository(git, tmp_path / "tree", environment, Bounds(keep_days=30))


def pins_of(repository):
    return SnapshotPins(repository.git, repository.bounds)


def take(repository, name, at, content):
    (repository.project / "file").write_bytes(content)
    tree = repository.take().tree
    pins_of(repository).pin("ses_a", name, (at, at), (tree,))
    return tree


def test_snapshots_that_are_too_old_are_let_go(kept):
    now = 100 * 86_400
    old, new = take(kept, "1", now - 40 * 86_400, b"old"), take(kept, "2", now - 86_400, b"new")
    for path in (kept.git.folder / "objects").rglob("*"):
        os.utime(path, (0, 0))
    pins_of(kept).prune(now)
    pins_of(kept).need(new)
    with pytest.raises(SnapshotFailed, match="no longer exists"):
        pins_of(kept).need(old)


def test_snapshots_that_take_too_much_room_go_oldest_first(kept):
    trees = [take(kept, str(place), 1_000 + place, os.urandom(200_000)) for place in range(8)]
    for path in (kept.git.folder / "objects").rglob("*"):
        os.utime(path, (0, 0))
    kept.bounds = Bounds(quota_bytes=900_000)
    pins_of(kept).prune(2_000)
    pins_of(kept).need(trees[-1])
    with pytest.raises(SnapshotFailed):
        pins_of(kept).need(trees[0])


def test_a_project_that_is_larger_than_the_quota_is_not_kept_and_says_so(kept):
    kept.bounds = Bounds(quota_bytes=1_000)
    (kept.project / "file").write_bytes(b"x" * 2_000_000)
    with pytest.raises(SnapshotFailed, match="quota_mb"):
        kept.take()


def test_stats_count_undone_turns_and_count_nothing_twice(home):
    task = {"description": "d", "prompt": "count", "subagent_type": "general"}
    session = session_of(home, calls(("task", task)))
    home.run("undo", session)
    home.run("fork", session)
    shown = home.run("stats").stdout
    counted = {line.split(":")[0]: line for line in shown.splitlines() if ": " in line}
    assert "agent build" in counted and "1 turns" in counted["agent build"], shown
    assert "1 turns" in counted["agent general"]
    tokens = [
        int(line.split(" tokens")[0].split()[-1].replace(",", "")) for line in counted.values() if " tokens" in line
    ]
    day, *by_agent = tokens[:3]
    assert day == sum(by_agent), "what a subagent used is its own"
    assert "█" * 40 in shown and shown.count(" -\n") == 6


def test_stats_tell_what_is_left_of_each_limit_of_the_day_and_the_month(home):
    folder = home.folder / ".config" / "bridle"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[limits]\ndaily = { cost = 100.0, tokens = 1_000_000 }\n")
    usage = {"input": 1_000, "output": 1_000}
    model = home.script({"text": "Hi.", "usage": usage}, price={"input": 100.0, "output": 900.0})
    assert home.run("run", "--model", model, "hi").returncode == 0
    today, month = home.run("stats").stdout.splitlines()[:2]
    assert today == "today: 2,000 tokens used, 998,000 left of 1,000,000, $1.0000 used, $99.0000 left of $100.00"
    assert month == "this month: no limit is set"


def test_a_turn_that_was_interrupted_is_found_by_resume_alone(home):
    script = home.script(calls(("bash", {"command": "sleep 60"})), {"text": "Resumed."})
    process = home.start("run", "--format", "json", "--model", script, "--on-ask", "allow", "go")
    for line in process.stdout:
        if '"step_finish"' in line:
            break
    process.kill()
    process.communicate()
    done = home.run("resume")
    assert (done.returncode, "Resumed." in done.stdout) == (0, True), done.stderr
    assert home.run("resume").stderr == "bridle: there is nothing to resume here\n"
