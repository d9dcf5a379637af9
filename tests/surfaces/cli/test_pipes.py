"""Pipes with the names of files that Bridle or its git reads: none of them holds anything up."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.cli_home import Home, calls
from support.undo_project import git

from bridle.errors import SnapshotFailed
from bridle.snapshots.git import Git
from bridle.snapshots.git_process import Leash

SECONDS = 60
"""Whatever waits for a pipe waits for ever; a busy machine does not take this long."""


@pytest.fixture
def home(tmp_path):
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    git(project, "init", "-q")
    return Home(tmp_path / "home", project)


def pipe(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def told(home, *words):
    """What a command prints, unless it waits for ever."""
    with home.start(*words) as process:
        try:
            printed, complained = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, printed, complained


def run(home, *replies, more=()):
    script = home.script(*replies, {"text": "Done."})
    return told(home, "run", "--trust", "--model", script, "--on-ask", "allow", *more, "go")


@pytest.mark.parametrize(
    "name",
    [
        ".git/info/exclude",
        ".bridle/skills/s/SKILL.md",
        ".claude/skills/s/SKILL.md",
        ".bridle/agents/a.md",
        ".bridle/commands/c.md",
        ".bridle/tools/t.py",
        "AGENTS.md",
        "CLAUDE.md",
        ".mcp.json",
    ],
)
def test_a_pipe_in_the_place_of_a_project_s_file_holds_nothing_up(home, name):
    pipe(home.project / name)
    code, printed, complained = run(home, calls(("bash", {"command": "echo 1 > made"})))
    assert (code, printed, (home.project / "made").exists()) == (0, "Done.\n", True), complained


@pytest.mark.parametrize("name", ["bridle.toml", ".bridle/config.toml", "opencode.json"])
def test_settings_that_are_a_pipe_are_refused_or_passed_over(home, name):
    pipe(home.project / name)
    code, _, complained = run(home)
    assert code == 0 or name in complained


def test_a_pipe_in_the_place_of_git_s_configuration_holds_no_command_up(home):
    del home.environment["BRIDLE_SANDBOX__MODE"]
    pipe(home.project / ".git" / "config")
    code, printed, complained = run(home, calls(("bash", {"command": "echo 1 > made"})))
    assert (code, printed) == (0, "Done.\n"), complained


NAMES = [".gitignore", ".gitattributes", "sub/.gitignore"]


@pytest.mark.parametrize("name", NAMES)
def test_a_pipe_that_a_command_makes_for_git_costs_the_undo_and_not_the_turn(home, name):
    (home.project / "sub").mkdir()
    commands = (f"mkfifo {name}; echo 1 > h1", "echo 2 > h2")
    made = [calls(("bash", {"command": command})) for command in commands]
    code, printed, complained = run(home, *made, more=("--max-seconds", "12"))
    assert (code, printed, (home.project / "h2").read_text()) == (0, "Done.\n", "2\n"), complained
    assert f"cannot be undone: {name} is a pipe, on which git would block forever: remove it" in complained
    code, _, complained = told(home, "undo")
    assert (code, f"{name} is a pipe" in complained) == (0, True)
    assert (home.project / "h1").exists()


@pytest.mark.parametrize("name", NAMES)
def test_an_undo_that_meets_a_pipe_names_it_and_goes_once_it_is_removed(home, name):
    run(home, calls(("bash", {"command": "mkdir -p sub; echo 1 > sub/h1"})))
    pipe(home.project / name)
    code, _, complained = told(home, "undo")
    assert (code, f"{name} is a pipe" in complained) == (2, True), complained
    (home.project / name).unlink()
    assert told(home, "undo")[0] == 0
    assert not (home.project / "sub" / "h1").exists()


def slow_git(folder):
    """A git that starts something, tells what it is, and never ends."""
    folder.mkdir()
    program = folder / "git"
    program.write_text(f"#!/bin/sh\nsleep 1000 &\necho $$ $! > {folder}/begun; mv {folder}/begun {folder}/told\nwait\n")
    program.chmod(0o755)
    return folder / "told"


def begun(path):
    while not path.exists():
        time.sleep(0.02)
    return [int(word) for word in path.read_text().split()]


def ended(processes):
    """Whether all of them end before long; a process that nobody has waited for yet has ended too."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if not any(_runs(process) for process in processes):
            return True
        time.sleep(0.05)
    return False


def _runs(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_git_of_bridle_s_own_dies_with_it_and_with_all_that_it_started(home):
    told_in = slow_git(home.folder / "bin")
    home.environment["PATH"] = f"{home.folder / 'bin'}:{home.environment['PATH']}"
    script = home.script(calls(("bash", {"command": "echo 1 > made"})), {"text": "Done."})
    with home.start("run", "--model", script, "--on-ask", "allow", "go") as process:
        processes = begun(told_in)
        process.kill()
    assert ended(processes)


def test_git_of_bridle_s_own_ends_with_an_aborted_turn(home):
    told_in = slow_git(home.folder / "bin")
    home.environment["PATH"] = f"{home.folder / 'bin'}:{home.environment['PATH']}"
    script = home.script(calls(("bash", {"command": "echo 1 > made"})), {"text": "Done."})
    with home.start("run", "--model", script, "--on-ask", "allow", "go") as process:
        processes = begun(told_in)
        process.send_signal(signal.SIGINT)
        assert ended(processes)
        process.communicate(timeout=SECONDS)


def test_git_that_takes_longer_than_its_deadline_ends_with_all_that_it_started(tmp_path):
    told_in = slow_git(tmp_path / "bin")
    (tmp_path / "tree").mkdir()
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    with Leash() as leash:
        slow = Git(tmp_path / "git", tmp_path / "tree", tmp_path / "tree", path, leash, seconds=2.0)
        with pytest.raises(SnapshotFailed, match="git took longer than 2 s"):
            slow.run("status")
        assert ended(begun(told_in))
        with pytest.raises(SnapshotFailed, match="git took longer than 2 s"):
            slow.run("status")


def test_a_turn_with_little_time_does_not_wait_for_git(home):
    slow_git(home.folder / "bin")
    home.environment["PATH"] = f"{home.folder / 'bin'}:{home.environment['PATH']}"
    _, _, complained = run(home, calls(("bash", {"command": "echo 1 > made"})), more=("--max-seconds", "3"))
    assert "the changes of this turn cannot be undone: it took longer than 2." in complained
