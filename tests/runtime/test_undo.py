"""Turns that are undone and redone: history and files together, and the user's git untouched."""

import asyncio
import hashlib
import os
import shutil
import stat

import pytest
from support.cli_home import ForkedHome, calls
from support.undo_project import git, turn

from bridle import Runtime, RuntimeConfig, Settings
from bridle.core.messages import UserMessage
from bridle.runtime.undo import undo
from bridle.testing import ScriptedModel


@pytest.fixture
def repository(home):
    """A repository with everything that may go wrong in it, and changes that are staged, not staged and ignored."""
    project = home.project
    git(project, "init", "-q", "-b", "main")
    (project / ".gitignore").write_text("*.log\nbuild/\n")
    (project / ".gitattributes").write_text("*.txt text eol=crlf\n*.c ident filter=evil\n")
    (project / "kept.txt").write_bytes(b"one\ntwo\n")
    (project / "gone.py").write_text("print(1)\n")
    (project / "moved.py").write_text("x = 1\n" * 20)
    (project / "run.sh").write_text("#!/bin/sh\n")
    (project / "run.sh").chmod(0o755)
    (project / "secret.ini").write_text("a=1\n")
    (project / "secret.ini").chmod(0o600)
    (project / "image.bin").write_bytes(bytes(range(256)) * 40)
    (project / "id.c").write_bytes(b"/* $Id$ */\r\n")
    (project / "sub").mkdir()
    (project / "sub" / "link").symlink_to("../kept.txt")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "first")
    (project / "staged.py").write_text("staged\n")
    git(project, "add", "staged.py")
    (project / "staged.py").write_text("staged and changed\n")
    (project / "dirty.log").write_text("ignored\n")
    (project / "huge.bin").write_bytes(os.urandom(3 << 20))
    return project


def state_of(folder):
    """Every file below a folder: kind, mode, content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[str(path.relative_to(folder))] = ("link", str(path.readlink()))
        elif stat.S_ISREG(mode):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path.relative_to(folder))] = (stat.S_IMODE(mode), digest)
    return found


def files_of(project):
    return {path: facts for path, facts in state_of(project).items() if not path.startswith(".git/")}


def git_of(project):
    """Every byte and time of the user's git, and what it says of the files."""
    times = {str(path): path.lstat().st_mtime_ns for path in (project / ".git").rglob("*")}
    return state_of(project / ".git"), times


EVERYTHING = """
set -e
printf 'one\\r\\nTWO\\n' > kept.txt
rm gone.py
mv moved.py renamed.py
printf '#!/bin/sh\\necho changed\\n' > run.sh; chmod 644 run.sh
printf 'a=2\\n' > secret.ini
printf '\\000\\001changed' > image.bin
printf '/* $Id: evil $ */\\r\\nx' > id.c
rm sub/link; ln -s /etc/passwd sub/link
mkdir -p new/deep; printf 'n' > new/deep/file; printf 'u' > 'new/uml ä "quote".txt'
printf 'again' > staged.py
printf 'more' >> dirty.log
mkdir -p build; printf 'b' > build/out
ln -s kept.txt fresh-link
rm -rf sub/link; mkdir sub/link; printf 'd' > sub/link/inner
"""


def test_undo_and_redo_restore_every_kind_of_file_and_leave_git_alone(home, repository):
    before, index = files_of(repository), git_of(repository)
    done = turn(home, EVERYTHING)
    changed = files_of(repository)
    assert changed != before
    assert {"kept.txt", "gone.py", "moved.py", "renamed.py", "sub/link", "sub/link/inner"} <= set(done["files"])
    assert not {"dirty.log", "build/out"} & set(done["files"]), "what is ignored is not ours"
    undone = home.anew("undo")
    assert (undone.returncode, undone.stderr) == (0, "")
    restored = files_of(repository)
    for path in ("dirty.log", "build/out"):
        assert restored.pop(path) == changed[path], "ignored files stay as they are"
    assert restored == {path: facts for path, facts in before.items() if path != "dirty.log"}
    assert not (repository / "new").exists()
    assert home.anew("redo").returncode == 0
    assert files_of(repository) == changed
    assert git_of(repository) == index


def test_history_and_files_go_back_together_and_the_next_prompt_makes_it_final(home):
    file = home.project / "notes.txt"
    first = turn(home, "echo one > notes.txt", prompt="first")
    session = first["session"]
    turn(home, "echo two >> notes.txt", session, prompt="second")
    turn(home, "echo three >> notes.txt", session, prompt="third")
    assert file.read_text() == "one\ntwo\nthree\n"
    assert "second" in home.anew("undo", session, "--to", "2").stdout
    assert file.read_text() == "one\n"
    shown = home.run("show", session).stdout
    assert ("first" in shown, "second" in shown, "third" in shown) == (True, False, False)
    assert home.run("redo", session).returncode == 0
    assert file.read_text() == "one\ntwo\nthree\n"
    assert "third" in home.run("show", session).stdout
    # Two steps back, one forward.
    home.run("undo", session)
    assert file.read_text() == "one\ntwo\n"
    home.run("undo", session)
    assert file.read_text() == "one\n"
    home.run("redo", session)
    assert file.read_text() == "one\ntwo\n"
    last = turn(home, "cat notes.txt", session, prompt="fourth")
    refused = home.run("redo", session)
    assert (refused.returncode, "nothing to redo" in refused.stderr) == (2, True)
    shown = home.run("show", session).stdout
    assert ("second" in shown, "third" in shown, "fourth" in shown) == (True, False, True)
    assert last["reason"] == "answered"


def test_the_model_does_not_see_what_was_undone_and_turn_numbers_are_not_used_again():
    async def work():
        model = ScriptedModel(["One.", "Two.", "Three."])
        async with Runtime(RuntimeConfig(models={"test/m": model}, settings=Settings(model="test/m"))) as runtime:
            session = await runtime.create()
            for words in ("first", "second"):
                await runtime.wait(session, await runtime.prompt(session, words))
            assert (await undo(runtime, session)).prompt == "second"
            await runtime.wait(session, await runtime.prompt(session, "third"))
            messages = model.requests[-1].messages
            said = [each.text if isinstance(each, UserMessage) else each.blocks[0].text for each in messages]
            return said, (await runtime.load(session)).turns

    said, turns = asyncio.run(work())
    assert said == ["first", "One.", "third"]
    assert turns == 3


def test_what_somebody_else_changed_in_the_meantime_is_not_lost(home):
    file = home.project / "notes.txt"
    session = turn(home, "echo model > notes.txt; echo other > other.txt")["session"]
    file.write_text("mine\n")
    refused = home.run("undo", session)
    assert (refused.returncode, "notes.txt" in refused.stderr, "--force" in refused.stderr) == (2, True, True)
    assert (file.read_text(), (home.project / "other.txt").exists()) == ("mine\n", True), "nothing was touched"
    assert home.anew("undo", session, "--force").returncode == 0
    assert not file.exists() and not (home.project / "other.txt").exists()
    assert home.run("redo", session).returncode == 0
    assert file.read_text() == "mine\n", "a redo brings back what was there"
    assert home.anew("undo", session, "--keep-files").returncode == 0
    assert file.read_text() == "mine\n"


def spied(home):
    """A git that tells of each time it is started."""
    folder = home.folder / "spy"
    folder.mkdir()
    told = folder / "told"
    real = shutil.which("git")
    (folder / "git").write_text(f'#!/bin/sh\necho "$*" >> {told}\nexec {real} "$@"\n')
    (folder / "git").chmod(0o755)
    return told, {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize("command", ["cat notes.txt; ls | wc -l", "grep -n x notes.txt; git status --short || true"])
def test_a_step_that_only_reads_starts_no_git(home, command):
    told, path = spied(home)
    (home.project / "notes.txt").write_text("x\n")
    home.environment |= path
    script = home.script(
        calls(("read", {"filePath": "notes.txt"}), ("glob", {"pattern": "*"})),
        calls(("bash", {"command": command})),
        calls(("todowrite", {"todos": [{"content": "x", "status": "pending"}]})),
        {"text": "Done."},
    )
    code, _ = home.json("--model", script, "--on-ask", "allow", "go")
    ours = [line for line in told.read_text().splitlines() if "core.hooksPath" in line] if told.exists() else []
    assert (code, ours) == (0, [])
    turn(home, "touch new")
    assert any("write-tree" in line for line in told.read_text().splitlines())


def test_ignore_rules_of_the_whole_repository_hold_in_a_folder_of_it(tmp_path):
    root = tmp_path / "home" / "repo"
    project = root / "packages" / "one"
    project.mkdir(parents=True)
    git(root, "init", "-q")
    (root / ".gitignore").write_text("node_modules\n")
    (root / ".git" / "info" / "exclude").write_text("local.env\n")
    (tmp_path / "home" / ".config" / "git").mkdir(parents=True)
    (tmp_path / "home" / ".config" / "git" / "ignore").write_text("*.swp\n")
    (root / "other.txt").write_text("other")
    home = ForkedHome(tmp_path / "home", project)
    done = turn(home, "mkdir node_modules; touch node_modules/x local.env a.swp b.txt; echo mine > c.txt")
    assert done["files"] == ["b.txt", "c.txt"]
    (root / "other.txt").write_text("changed by somebody else")
    assert home.run("undo").returncode == 0
    assert sorted(path.name for path in project.iterdir()) == ["a.swp", "local.env", "node_modules"]
    assert (root / "other.txt").read_text() == "changed by somebody else"


def test_a_file_that_git_tracks_although_it_is_ignored_is_kept_too(home):
    project = home.project
    git(project, "init", "-q")
    (project / ".gitignore").write_text("*.lock\n")
    (project / "deps.lock").write_text("1")
    git(project, "add", "-f", "deps.lock", ".gitignore")
    turn(home, "echo 2 > deps.lock")
    assert home.run("undo").returncode == 0
    assert (project / "deps.lock").read_text() == "1"


def test_a_journal_that_lies_among_the_files_is_not_undone_with_them(home):
    home.environment["XDG_DATA_HOME"] = str(home.project / "our [own] data")
    done = turn(home, "echo mine > c.txt")
    assert done["files"] == ["c.txt"]
    assert home.run("undo").returncode == 0
    assert not (home.project / "c.txt").exists()
    assert "redone: turn 1" in home.run("redo").stdout


def test_large_files_are_left_and_said_to_be(home):
    session = turn(home, "head -c 3000000 /dev/zero > big.bin; echo x > small.txt")["session"]
    undone = home.run("undo", session)
    assert "big.bin was changed and is not kept" in undone.stderr
    assert ((home.project / "big.bin").exists(), (home.project / "small.txt").exists()) == (True, False)


def test_a_subagent_s_changes_go_with_the_turn_that_started_it(home):
    (home.project / "a.txt").write_text("before")
    task = {"description": "d", "prompt": "CHILD", "subagent_type": "general"}
    script = home.script(
        calls(("task", task), ("bash", {"command": "echo parent > b.txt"})),
        calls(("bash", {"command": "echo child > a.txt"})),
        {"text": "Child done."},
        {"text": "All done."},
    )
    code, _ = home.json("--model", script, "--on-ask", "allow", "go")
    assert (code, (home.project / "a.txt").read_text()) == (0, "child\n")
    assert home.run("undo").returncode == 0
    assert ((home.project / "a.txt").read_text(), (home.project / "b.txt").exists()) == ("before", False)


def test_the_diff_shows_what_the_session_changed_and_nothing_else(home):
    (home.project / "notes.txt").write_text("one\n")
    session = turn(home, "echo two >> notes.txt")["session"]
    (home.project / "mine.txt").write_text("mine\n")
    turn(home, "echo three >> notes.txt", session)
    shown = home.anew("diff", session).stdout
    assert "+two" in shown and "+three" in shown and "mine" not in shown and "\x1b" not in shown
    second = home.anew("diff", session, "--turn", "2").stdout
    assert "+three" in second and "+two" not in second
    assert home.run("diff", session, "--turn", "9").returncode == 2


def test_a_nested_repository_keeps_its_own_history(home):
    inner = home.project / "vendored"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "x.txt").write_text("1")
    before = git_of(inner)
    turn(home, "echo 2 > vendored/x.txt; echo y > y.txt")
    assert home.run("undo").returncode == 0
    assert ((inner / "x.txt").read_text(), (home.project / "y.txt").exists()) == ("2\n", False)
    assert git_of(inner) == before


def test_snapshots_may_be_switched_off_and_undo_then_takes_the_history_alone(home):
    configured = home.folder / ".config" / "bridle" / "config.toml"
    configured.parent.mkdir(parents=True)
    configured.write_text("[snapshots]\nenabled = false\n")
    session = turn(home, "echo x > x.txt")["session"]
    assert home.run("undo", session).returncode == 0
    assert (home.project / "x.txt").exists()
    assert not (home.folder / ".local" / "share" / "bridle" / "snapshots").exists()


def test_without_git_a_turn_goes_on_and_says_once_that_it_cannot_be_undone(home):
    folder = home.folder / "bin"
    folder.mkdir()
    for name in ("bash", "sh", "touch", "bwrap", "env", "python3"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    home.environment["PATH"] = str(folder)
    script = home.script(*(calls(("bash", {"command": f"touch {name}"})) for name in "ab"), {"text": "Done."})
    code, lines = home.json("--model", script, "--on-ask", "allow", "go")
    told = [line["text"] for line in lines if line["type"] == "notice" and line["about"] == "snapshot"]
    assert (code, told) == (0, ["the changes of this turn cannot be undone: git is not installed"])


def test_an_interrupted_turn_is_not_undone(home):
    script = home.script(calls(("question", {"question": "Which?"})), {"text": "Done."})
    _, lines = home.json("--model", script, "--on-ask", "pause", "--tool", "question=on", "go")
    session = lines[-1]["session"]
    refused = home.run("undo", session)
    if lines[-1]["reason"] == "paused":
        assert (refused.returncode, "open turn" in refused.stderr) == (2, True)


def test_an_empty_session_has_nothing_to_undo(home):
    assert "there is no session" in home.run("undo").stderr
    session = turn(home, "true")["session"]
    home.run("undo", session)
    again = home.run("undo", session)
    assert (again.returncode, again.stderr) == (2, "bridle: there is no turn to undo\n")
