"""`bridle` opens a directory and a session; sessions are named by the beginning of their ids, or not at all."""

import shlex

import pytest
from support.cli_home import BRIDLE, Home
from support.tmux_terminal import Terminal


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home" / "project").mkdir(parents=True)
    (tmp_path / "home" / "other one").mkdir()
    found = Home(tmp_path / "home", tmp_path / "home" / "project")
    found.environment["BRIDLE_MODEL"] = found.script({"text": "Hello."}, {"text": "Again."})
    return found


def listed(home):
    return [line.split()[0] for line in home.run("sessions").stdout.splitlines()]


def test_a_session_is_named_by_the_beginning_of_its_id_or_is_the_last_one(home):
    for words in ("first", "second"):
        assert home.run("run", words).returncode == 0
    last, first = listed(home)
    assert home.run("show").stdout == home.run("show", last).stdout
    assert "> first" in home.run("show", first[:-1]).stdout
    together = home.run("show", first[:8])
    assert together.returncode == 2 and first in together.stderr and last in together.stderr
    assert home.run("show", "ses_none").returncode == 2
    assert home.run("run", "-s", first[:-2], "third").returncode == 0
    assert home.run("run", "-c", "fourth").returncode == 0
    assert "> fourth" in home.run("show", first).stdout
    assert home.run("sessions", "pin", last[:-1]).returncode == 0
    assert listed(home) == [last, first]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("./nowhere",), "there is no terminal here"),
        ((".", "more"), "only one directory can be opened: leave out more"),
        (("-c", "-s", "ses_x"), "give --session or --continue, not both"),
        (("-m", "a/b", "run", "hi"), "write the options behind the command, as in `bridle run …`"),
        (("rnu",), "No such command 'rnu'"),
    ],
)
def test_what_cannot_be_opened_is_said(home, words, said):
    done = home.run(*words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_directory_is_opened_with_a_prompt_and_the_way_back_is_named(home):
    there = home.folder / "other one"
    script = home.environment.pop("BRIDLE_MODEL")
    command = [str(BRIDLE), str(there), "-m", script, "--agent", "build", "--prompt", "hi there"]
    terminal = Terminal(home, [f"{shlex.join(command)}; sleep 60"])
    try:
        terminal.until("hi there", "Hello.", "idle")
        terminal.press("Escape", "!")
        terminal.until("a shell command")
        terminal.press("pwd > where", "Enter")
        terminal.until("where +")
        terminal.press("/exit", "Enter")
        left = terminal.until("continue this session with: bridle -s ses_")
    finally:
        terminal.close()
    assert left and (there / "where").read_text().strip() == str(there)
