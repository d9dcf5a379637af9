"""What an undo must never do: destroy what was there before the turn, or what somebody made since."""

import json
import os
import signal
import subprocess
import time

import pytest
from support.cli_home import BRIDLE, ForkedHome, calls
from support.undo_project import files, git, turn, write

LARGE = b"x" * 3_000_000


def test_files_that_only_became_visible_in_the_turn_are_not_deleted(home):
    project = home.project
    git(project, "init", "-q", "-b", "main")
    git(project, "commit", "-q", "--allow-empty", "-m", "nothing")
    git(project, "checkout", "-q", "-b", "dev")
    (project / ".gitignore").write_text(".env\nnode_modules\n")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "rules")
    (project / ".env").write_text("KEY=1")
    (project / "node_modules").mkdir()
    (project / "node_modules" / "x.js").write_text("x")
    turn(home, "git checkout -q main; echo new > new.txt")
    undone = home.run("undo")
    assert (undone.returncode, ".env was there before" in undone.stderr) == (0, True)
    assert files(project) == {".env": b"KEY=1", "node_modules/x.js": b"x", ".gitignore": b".env\nnode_modules\n"}


@pytest.mark.parametrize(
    ("before", "command", "stays"),
    [
        ({".gitignore": b".env\n", ".env": b"K"}, "echo '*.log' > .gitignore", {".gitignore": b".env\n", ".env": b"K"}),
        ({"big": LARGE}, "echo short > big; echo n > n", {"big": b"short\n"}),
        ({"big": LARGE}, "rm big; echo n > n", {}),
        ({"v/.git/HEAD": b"ref: x", "v/a": b"a"}, "rm -rf v/.?it; echo n > n", {"v/a": b"a"}),
    ],
)
def test_what_was_there_and_not_kept_is_left_alone_and_said_to_be(home, before, command, stays):
    for name, content in before.items():
        path = home.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if any(name.startswith("v/") for name in before):
        (home.project / "v" / ".git").rename(home.project / "elsewhere")
        git(home.project / "v", "init", "-q")
        (home.project / "elsewhere" / "HEAD").unlink()
        (home.project / "elsewhere").rmdir()
    turn(home, command)
    undone = home.run("undo")
    assert undone.returncode == 0 and undone.stderr, "it says what it has not brought back"
    assert files(home.project) == stays


IN_THE_WAY = {
    "a file in a folder that was a file": (
        {"a": b"1"},
        "rm a; mkdir a; echo x > a/inner",
        lambda p: write(p, "a/mine", b"mine"),
    ),
    "a file where a folder was": ({"d/x": b"1"}, "rm -rf d", lambda p: write(p, "d", b"mine")),
    "a link where a folder was": ({"d/x": b"1"}, "rm -rf d", lambda p: (p / "d").symlink_to("/tmp")),
    "a file that grew too large": ({"f": b"1"}, "echo 2 > f", lambda p: write(p, "f", LARGE)),
    "a new file that grew too large": ({}, "echo n > g", lambda p: write(p, "g", LARGE)),
    "a large file where one was deleted": ({"f": b"1"}, "rm f", lambda p: write(p, "f", LARGE)),
    "an ignored file where one was deleted": (
        {"f": b"1"},
        "rm f",
        lambda p: (write(p, "f", b"mine"), write(p, ".gitignore", b"f\n")),
    ),
    "a repository where a file was": (
        {"f": b"1"},
        "rm f",
        lambda p: ((p / "f").mkdir(), git(p / "f", "init", "-q"), write(p, "f/mine", b"mine")),
    ),
}


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize("name", IN_THE_WAY)
def test_what_nobody_could_bring_again_is_never_in_the_way(home, name, force):
    before, command, by_hand = IN_THE_WAY[name]
    for path, content in before.items():
        write(home.project, path, content)
    turn(home, command)
    by_hand(home.project)
    found = files(home.project)
    refused = home.run("undo", *force)
    assert (refused.returncode, files(home.project)) == (2, found), refused.stderr
    assert "Move it away first" in refused.stderr
    assert home.run("undo", "--keep-files").returncode == 0
    assert files(home.project) == found


def test_a_redo_does_not_overwrite_what_was_made_since_the_undo(home):
    turn(home, "echo model > n; echo y > new")
    assert home.run("undo").returncode == 0
    write(home.project, "n", b"precious")
    write(home.project, "new", b"precious too")
    refused = home.run("redo")
    assert (refused.returncode, files(home.project)) == (2, {"n": b"precious", "new": b"precious too"})
    assert home.anew("redo", "--keep-files").returncode == 0
    assert files(home.project) == {"n": b"precious", "new": b"precious too"}


def test_edits_between_turns_stop_an_undo_over_several(home):
    write(home.project, "a", b"0\n")
    session = turn(home, "echo 1 >> a")["session"]
    write(home.project, "a", b"0\n1\nhand\n")
    turn(home, "echo 2 >> a", session)
    refused = home.run("undo", session, "--to", "1")
    assert (refused.returncode, files(home.project)) == (2, {"a": b"0\n1\nhand\n2\n"})
    assert home.run("undo", session, "--to", "1", "--force").returncode == 0
    assert files(home.project) == {"a": b"0\n"}
    assert home.run("redo", session).returncode == 0
    assert files(home.project) == {"a": b"0\n1\nhand\n2\n"}


def test_another_session_at_the_same_time_is_not_undone_with_this_one(home):
    script = home.script(calls(("bash", {"command": "echo A > a; sleep 3"})), {"text": "Done."}, name="slow.json")
    slow = home.start("run", "--format", "json", "--model", script, "--on-ask", "allow", "go")
    while not (home.project / "a").exists():
        time.sleep(0.05)
    turn(home, "echo B > b")
    first = json.loads(slow.communicate(timeout=60)[0].splitlines()[-1])["session"]
    refused = home.run("undo", first)
    assert (refused.returncode, "changed outside this session since: b" in refused.stderr) == (2, True)
    assert files(home.project) == {"a": b"A\n", "b": b"B\n"}


def killed(home, *words):
    """Run a command that dies when it has recorded what it is about to do to files."""
    trap = home.folder / "trap"
    trap.mkdir(exist_ok=True)
    script = "import os, signal\nimport bridle.snapshots.snapshots as s\n"
    script += "s.restore = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
    (trap / "sitecustomize.py").write_text(script)
    environment = {**home.environment, "PYTHONPATH": str(trap)}
    done = subprocess.run([BRIDLE, *words], cwd=home.project, env=environment, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL


def test_an_undo_that_died_before_its_files_is_finished_and_nothing_more(home):
    session = turn(home, "echo one > n")["session"]
    turn(home, "echo two >> n", session)
    killed(home, "undo", session)
    assert files(home.project) == {"n": b"one\ntwo\n"}
    done = home.run("undo", session)
    assert (done.returncode, "completes an interrupted undo" in done.stdout) == (0, True)
    assert files(home.project) == {"n": b"one\n"}
    assert home.run("redo", session).returncode == 0
    assert files(home.project) == {"n": b"one\ntwo\n"}
    killed(home, "undo", session)
    assert home.run("redo", session).returncode == 0, "to take it back is to leave the files as they are"
    assert files(home.project) == {"n": b"one\ntwo\n"}


def test_a_prompt_after_a_dead_undo_keeps_its_work(home):
    session = turn(home, "echo one > n")["session"]
    turn(home, "echo two >> n", session)
    killed(home, "undo", session)
    script = home.script(calls(("bash", {"command": "echo three >> n"})), {"text": "Done."})
    _, lines = home.json("--model", script, "--on-ask", "allow", "--session", session, "go on")
    told = [line["text"] for line in lines if line["type"] == "notice" and line["about"] == "undo"]
    assert told == ["an undo or redo was interrupted: the history has changed, but not all files have been restored"]
    assert files(home.project) == {"n": b"one\ntwo\nthree\n"}
    assert home.run("undo", session).returncode == 0
    assert files(home.project) == {"n": b"one\ntwo\n"}


def test_by_hand_after_a_dead_undo_is_not_lost(home):
    session = turn(home, "echo one > n")["session"]
    killed(home, "undo", session)
    write(home.project, "n", b"precious")
    for words in (("undo", session), ("redo", session)):
        assert home.run(*words).returncode == 2
        assert files(home.project) == {"n": b"precious"}
    assert home.run("undo", session, "--keep-files").returncode == 0
    assert home.run("undo", session).returncode == 2, "there is nothing more to undo"


def test_no_git_is_run_from_a_folder_that_a_model_can_write_to(home):
    planted = home.project / ".venv" / "bin"
    planted.mkdir(parents=True)
    home.environment["PATH"] = f"{planted}:.:{os.environ['PATH']}"
    command = (
        f"printf '#!/bin/sh\\ntouch {home.folder}/PWNED' > .venv/bin/git; chmod +x .venv/bin/git; cp .venv/bin/git git"
    )
    turn(home, command)
    turn(home, "echo x > x")
    home.run("undo")
    assert not (home.folder / "PWNED").exists()


def test_what_a_command_does_in_the_background_is_undone_too_or_said_to_be_unknown(home):
    write(home.project, "f", b"before")
    script = home.script(
        calls(("bash", {"command": "sleep 0.5; echo bg > f; sleep 30", "background": True})),
        calls(("bash", {"command": "sleep 1.5"})),
        calls(("bash", {"command": "touch more"})),
        {"text": "Done."},
    )
    _, lines = home.json("--model", script, "--on-ask", "allow", "go")
    assert lines[-1]["reason"] == "answered"
    undone = home.run("undo")
    assert (undone.returncode, "in the background" in undone.stderr) == (0, True)
    assert files(home.project) == {"f": b"before"}


def test_a_project_that_the_repository_around_it_ignores_is_kept_all_the_same(tmp_path):
    root = tmp_path / "home"
    project = root / "scratch"
    project.mkdir(parents=True)
    git(root, "init", "-q")
    (root / ".gitignore").write_text("*\n")
    home = ForkedHome(root, project)
    write(project, "f", b"1")
    assert turn(home, "echo 2 > f")["files"] == ["f"]
    assert home.run("undo").returncode == 0
    assert files(project) == {"f": b"1"}


@pytest.mark.parametrize("words", [("--to", "²"), ("--to", "9"), ("--to", "-1"), ("--to", "prm_none")])
def test_a_turn_that_is_none_is_said_to_be_none(home, words):
    turn(home, "echo x > x")
    refused = home.run("undo", *words)
    assert (refused.returncode, "neither a turn" in refused.stderr) == (2, True)


def test_a_folder_that_is_gone_is_named(home):
    session = turn(home, "echo x > x")["session"]
    home.project.rename(home.folder / "moved")
    home.project = home.folder / "moved"
    refused = home.run("undo", session)
    assert (refused.returncode, "no longer exists" in refused.stderr) == (2, True)


def test_the_children_of_undone_turns_are_deleted_and_exported_with_their_session(home):
    task = {"description": "d", "prompt": "x", "subagent_type": "general"}
    script = home.script(calls(("task", task)), {"text": "Child."}, {"text": "Done."})
    session = home.json("--model", script, "--on-ask", "allow", "go")[1][-1]["session"]
    home.run("undo", session)
    assert len(json.loads(home.run("export", session).stdout)["sessions"]) == 2
    assert home.anew("sessions", "delete", session, session, "--yes").stdout.count("deleted") == 2
    assert home.run("sessions", "--all").stdout == ""


def test_a_fork_of_a_renamed_session_has_a_beginning_of_its_own(home):
    session = turn(home, "true")["session"]
    home.anew("sessions", "rename", session, "A name")
    home.anew("fork", session)
    counted = [line for line in home.anew("stats").stdout.splitlines() if line.startswith("agent build")]
    assert len(counted) == 1 and ": 1 turns" in counted[0]


def test_the_newest_session_is_never_too_much(home):
    configured = home.folder / ".config" / "bridle" / "config.toml"
    configured.parent.mkdir(parents=True)
    configured.write_text("[sessions]\nkeep_mb = 1\n")
    _, lines = home.json("--model", home.script({"text": "word " * 300_000}), "go")
    assert lines[-1]["session"] in home.run("sessions").stdout
