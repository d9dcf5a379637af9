"""Files that were there before a turn and come to light in it: an undo does not take them for the turn's own."""

import os
import shutil

import pytest
from support.cli_home import BRIDLE, ForkedHome, calls
from support.undo_project import files, git, turn, write


class Ordinary(ForkedHome):
    """A person who may not read everything, as the first user may."""

    def run(self, *words, given="", **environment):
        bounded = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
        program = (*bounded, str(BRIDLE)) if os.geteuid() == 0 else (str(BRIDLE),)
        return self.started(*program, *words, given=given, **environment)


@pytest.fixture
def ordinary(tmp_path):
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("the first user reads everything, and there is no setpriv")
    (tmp_path / "home" / "project").mkdir(parents=True)
    return Ordinary(tmp_path / "home", tmp_path / "home" / "project")


@pytest.mark.parametrize("command", ["chmod 755 un", "chmod -R 755 un", "chmod 755 un; mv un seen"])
def test_files_of_a_folder_that_could_not_be_read_before_stay(ordinary, command):
    write(ordinary.project, "un/x", b"mine")
    (ordinary.project / "un").chmod(0)
    turn(ordinary, f"{command}; echo new > new")
    folder = "seen" if "seen" in command else "un"
    undone = ordinary.run("undo")
    assert (undone.returncode, files(ordinary.project)) == (0, {f"{folder}/x": b"mine"}), undone.stderr
    assert f"{folder}/x was there before, and not kept then: it is left as it is" in undone.stderr


def test_a_file_that_could_not_be_read_before_stays(ordinary):
    write(ordinary.project, "un", b"mine")
    (ordinary.project / "un").chmod(0)
    turn(ordinary, "chmod 644 un; echo more >> un; echo new > new")
    undone = ordinary.run("undo")
    assert (undone.returncode, files(ordinary.project)) == (0, {"un": b"minemore\n"}), undone.stderr
    assert "un was there before" in undone.stderr


MOVED = {
    "a folder": ("mv ig vis", {"vis/keep": b"mine", "vis/in/deep": b"deep"}, "vis was moved there from ig"),
    "a folder, with a new file in it": (
        "mv ig vis; echo n > vis/new",
        {"vis/keep": b"mine", "vis/in/deep": b"deep"},
        "vis was moved there from ig",
    ),
    "a folder in it": ("mv ig/in vis", {"ig/keep": b"mine", "vis/deep": b"deep"}, "vis/deep was there before"),
    "a file in it": ("mv ig/keep vis", {"vis": b"mine", "ig/in/deep": b"deep"}, "vis was there before"),
    "a file in it, changed": (
        "mv ig/keep vis; echo more >> vis",
        {"vis": b"minemore\n", "ig/in/deep": b"deep"},
        "vis was there before",
    ),
}


@pytest.mark.parametrize("name", MOVED)
def test_what_is_moved_out_of_an_ignored_folder_stays_and_is_said_to(home, name):
    command, stays, said = MOVED[name]
    rules = {".gitignore": b"ig/\n"}
    write(home.project, ".gitignore", rules[".gitignore"])
    write(home.project, "ig/keep", b"mine")
    write(home.project, "ig/in/deep", b"deep")
    turn(home, f"{command}; echo new > new")
    changed = files(home.project)
    undone = home.run("undo")
    assert (undone.returncode, said in undone.stderr) == (0, True), undone.stderr
    assert files(home.project) == stays | rules
    assert home.run("redo").returncode == 0
    assert files(home.project) == changed
    assert home.run("undo").returncode == 0
    assert files(home.project) == stays | rules


@pytest.mark.parametrize(
    "command",
    [
        "mv d e",
        "mv d e; echo more >> e/x",
        "mv d/x y; echo more >> y",
        "mv d/x y; echo other > d/x",
        "ln d/x y; cp -p d/x z",
        "mv d/empty e",
        "git init -q nested; rm -rf nested; cp -a d e",
    ],
)
def test_what_was_kept_and_is_moved_or_copied_goes_back(home, command):
    git(home.project, "init", "-q")
    before = {"d/x": b"x\n", "d/empty": b"", "other": b"o"}
    for name, content in before.items():
        write(home.project, name, content)
    session = turn(home, "true > first")["session"]
    turn(home, command, session, prompt="again")
    changed = files(home.project)
    undone = home.run("undo", session)
    assert (undone.returncode, undone.stderr, files(home.project)) == (0, "", before | {"first": b""})
    assert home.run("redo", session).returncode == 0
    assert files(home.project) == changed
    assert home.run("undo", session, "--to", "1").returncode == 0
    assert files(home.project) == before


def test_what_a_command_made_in_the_background_is_not_taken_for_older_than_the_turn(home):
    script = home.script(
        calls(("bash", {"command": "sleep 0.7; echo bg > made; sleep 30", "background": True})),
        calls(("bash", {"command": "sleep 1.5"})),
        calls(("bash", {"command": "touch more"})),
        {"text": "Done."},
    )
    _, lines = home.json("--model", script, "--on-ask", "allow", "go")
    assert lines[-1]["reason"] == "answered"
    assert home.run("undo").returncode == 0
    assert files(home.project) == {}
