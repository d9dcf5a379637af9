"""Bridle's own git obeys nothing that lies in a project: no configuration, no remote, no program."""

import subprocess

import pytest
from support.cli_home import ForkedHome, calls
from support.undo_project import git, turn

MISSING = "1234567890123456789012345678901234567890"


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home" / "project").mkdir(parents=True)
    return ForkedHome(tmp_path / "home", tmp_path / "home" / "project")


@pytest.mark.parametrize("command", ["run", "undo"])
def test_a_promisor_remote_of_the_project_runs_nothing(home, command):
    project = home.project
    git(project, "init", "-q")
    (project / "a.txt").write_text("hi\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "x")
    git(project, "update-index", "--add", "--cacheinfo", f"100644,{MISSING},.gitignore")
    git(project, "update-index", "--skip-worktree", ".gitignore")
    planted = project.parent / "PWNED"
    if command == "undo":
        turn(home, "echo new > new.txt")
    (project / ".git" / "config").write_text(
        "[core]\nrepositoryformatversion=1\nbare=false\n[extensions]\npartialClone=e\n"
        f'[remote "e"]\nurl=/tmp\npromisor=true\nuploadpack=touch {planted}; git-upload-pack\n'
    )
    if command == "undo":
        assert home.run("undo").returncode == 0
    else:
        script = home.script(calls(("write", {"filePath": "b.txt", "content": "b"})), {"text": "Done."})
        assert home.run("run", "--model", script, "hi").returncode == 0
        assert (project / "b.txt").read_text() == "b"
    assert not planted.exists()


@pytest.mark.parametrize("index", ["plain", "split", "worktree", "submodule"])
def test_a_tracked_file_that_is_ignored_is_kept_whatever_form_the_index_has(home, index):
    project = home.project
    git(project, "init", "-q", "-b", "main")
    (project / "kept.log").write_text("before\n")
    (project / ".gitignore").write_text("*.log\n")
    git(project, "add", "-f", "kept.log", ".gitignore")
    git(project, "commit", "-qm", "x")
    if index == "split":
        git(project, "update-index", "--split-index")
        assert list((project / ".git").glob("sharedindex.*"))
    if index == "worktree":
        git(project, "worktree", "add", "-q", project.parent / "tree")
        home.project = project.parent / "tree"
    if index == "submodule":
        above = project.parent / "above"
        git(project.parent, "init", "-q", "above")
        subprocess.run(
            ["git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", project, "module"],
            cwd=above,
            check=True,
        )
        home.project = above / "module"
    turn(home, "echo after > kept.log; echo new > new.txt")
    assert (home.project / "kept.log").read_text() == "after\n"
    assert home.run("undo").returncode == 0
    assert (home.project / "kept.log").read_text() == "before\n"
