"""Pipes with the names of files that Bridle or its git reads: none of them holds anything up."""

import os
import subprocess

import pytest
from test_cli import Home, calls
from test_undo import git

SECONDS = 20
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
