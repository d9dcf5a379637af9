"""The terminal application in a real terminal: typed in tmux, and read back."""

import re
import shlex
import time

import pytest
from support.cli_home import BRIDLE, Home, calls
from support.tmux_terminal import Terminal


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home" / "project").mkdir(parents=True)
    return Home(tmp_path / "home", tmp_path / "home" / "project")


def test_the_prompt_is_written_in_the_editor_of_the_person_and_not_of_the_project(home):
    """A model may have put a program of that name into the environment that the person has activated."""
    programs, planted = home.folder / "programs", home.project / ".venv" / "bin"
    for folder, words in ((programs, "from the editor"), (planted, "from the project")):
        folder.mkdir(parents=True)
        (folder / "ed-it").write_text(f'#!/bin/sh\necho {words} > "$1"\n')
        (folder / "ed-it").chmod(0o755)
    home.environment |= {
        "BRIDLE_MODEL": home.script(),
        "EDITOR": "ed-it",
        "VISUAL": "",
        "PATH": f"{planted}:{programs}:{home.environment['PATH']}",
    }
    terminal = Terminal(home, [shlex.quote(str(BRIDLE))])
    try:
        terminal.until("Every turn here", "f1 Help")
        terminal.press("C-g")
        terminal.until("from the editor")
    finally:
        terminal.close()


def test_a_command_that_the_application_starts_loads_no_module_of_the_project(home):
    """Its working folder is the project, where a model may have written modules of any name."""
    for name in ("asyncio", "bridle", "json"):
        (home.project / f"{name}.py").write_text(f'open("{home.folder}/planted", "w")\n')
    home.environment["BRIDLE_MODEL"] = home.script()
    terminal = Terminal(home, [shlex.quote(str(BRIDLE))])
    try:
        terminal.until("Every turn here", "f1 Help")
        terminal.press("/connect openai", "Enter")
        terminal.until("key for openai")
    finally:
        terminal.close()
    assert not (home.folder / "planted").exists()


def test_without_a_terminal_it_says_what_to_use(home):
    done = home.run()
    assert (done.returncode, done.stderr) == (
        2,
        "bridle: there is no terminal here: use `bridle run`, or see `bridle --help`\n",
    )


def test_a_turn_that_was_interrupted_is_named_to_a_person_and_not_to_a_script(home):
    script = home.script(calls(("bash", {"command": "sleep 60"})), {"text": "Done."})
    killed = home.start("run", "--format", "json", "--model", script, "--on-ask", "allow", "go")
    for line in killed.stdout:
        if '"step_finish"' in line:
            break
    killed.kill()
    killed.communicate()
    assert "interrupted" not in home.run("run", "--model", home.script({"text": "Hello."}), "hi").stderr
    words = [shlex.quote(str(BRIDLE)), "run", "--model", home.script({"text": "Hello."}), "hi", ";", "sleep", "60"]
    terminal = Terminal(home, [" ".join(words)])
    try:
        terminal.until("a turn was interrupted here", "bridle resume ses_", "Hello.")
    finally:
        terminal.close()


def test_a_run_shows_what_is_under_way_and_leaves_what_is_done(home):
    waits = {"message": "overloaded", "status": 529, "headers": {"retry-after": "2"}}
    script = home.script(
        {"text": "# Plan\n\nI will **look**.", "pace": 0.01, "chunk": 4, **calls(("bash", {"command": "sleep 2"}))},
        {"error": waits},
        {"text": "- all *done*"},
    )
    words = [
        shlex.quote(str(BRIDLE)),
        "run",
        "--on-ask",
        "allow",
        "--steps",
        "5",
        "--model",
        script,
        "go",
        ";",
        "sleep",
        "60",
    ]
    terminal = Terminal(home, [" ".join(words)])
    try:
        terminal.until("Plan", "● bash  sleep 2", "step 1/5 ▰▰▱▱▱▱▱▱▱▱ · 1/200 calls")
        terminal.until("✓ bash  sleep 2  2.", "↻ try 2: overloaded", "↻ again in 1 s")
        left = terminal.until("answered: 2 steps, 1 call")
    finally:
        terminal.close()
    shown = [line.rstrip() for line in left.splitlines() if line.strip()]
    assert shown[0].startswith("session ")
    assert re.fullmatch(r"  ✓ bash  sleep 2  2\.\d s", shown.pop(4))
    assert shown[1:-1] == ["step 1/5", "Plan", "I will look.", "step 2/5", "↻ try 2: overloaded", " • all done"]


def test_a_turn_that_a_crash_left_is_opened_and_goes_on_with_a_key(home):
    model = home.script(calls(("bash", {"command": "echo once >> ran; sleep 60"})), {"text": "Went on."})
    home.environment["BRIDLE_MODEL"] = model
    killed = home.start("run", "--format", "json", "--on-ask", "allow", "go")
    while not (home.project / "ran").exists():
        assert killed.poll() is None
        time.sleep(0.05)
    killed.kill()
    killed.communicate()
    terminal = Terminal(home, [shlex.quote(str(BRIDLE))], 120, 40)
    try:
        terminal.until("This turn was interrupted", "$ echo once")
        terminal.press("C-t")
        terminal.until("Went on.", "answered · 2 steps · 1 call", "idle")
        terminal.press("C-c")
        terminal.gone()
    finally:
        terminal.close()
    assert (home.project / "ran").read_text() == "once\n"
