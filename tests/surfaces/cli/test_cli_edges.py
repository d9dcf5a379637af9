"""The command line at its edges: odd streams, other processes, a real terminal."""

import json
import os
import pty
import re
import subprocess
import sys
import time

import pytest
import typer
from support.cli_home import BRIDLE, Home, begun, calls, stopped
from support.readable import readable

from bridle.surfaces.cli.index import COMMANDS, load


@pytest.fixture
def home(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    return Home(tmp_path, project)


def shell(home, words, redirect):
    command = f'"{BRIDLE}" {words} {redirect}'
    return subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=home.project,
        env=home.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


STREAMS = ["<&-", "</dev/null >/dev/full", "</dev/null >&-", "</dev/null 2>&-", "</dev/null | true"]


@pytest.mark.parametrize("redirect", STREAMS)
def test_odd_streams_give_no_traceback(home, redirect):
    model = home.script({"text": "hello", "chunk": 1})
    done = shell(home, f"run --model {model} go", redirect)
    assert "Traceback" not in done.stderr + done.stdout


def test_a_terminal_that_knows_few_letters_still_gets_the_answer(home):
    home.environment["PYTHONIOENCODING"] = "latin-1"
    done = home.run("run", "--model", home.script({"text": "done \u2713"}), "go")
    assert (done.returncode, done.stdout) == (0, "done ?\n")


def test_bytes_that_are_no_text_in_a_prompt_are_taken_with_a_mark(home):
    model = home.script({"text": "ok"})
    done = subprocess.run(
        [BRIDLE, "run", "--model", model, b"bad \xff byte"],
        cwd=home.project,
        env=home.environment,
        input=b"\xfe",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"ok\n")


def test_a_journal_in_an_impossible_place_is_told_in_one_sentence(home):
    (home.folder / "file").write_text("")
    home.environment["XDG_DATA_HOME"] = str(home.folder / "file")
    done = home.run("run", "--model", home.script({"text": "ok"}), "go")
    assert (done.returncode, done.stderr.count("\n"), "cannot be opened" in done.stderr) == (1, 1, True)


def test_a_queued_prompt_of_another_process_is_answered_to_that_process_alone(home):
    model = home.script({"text": "answer one", "delay": 0.5}, {"text": "answer two", "delay": 0.5})
    first = home.start("run", "--format", "json", "--model", model, "one")
    session = begun(first)
    with stopped(first):
        second = home.start("run", "--session", session, "--queue", "--model", model, "two")
        assert session in second.stderr.readline()
    out, _ = second.communicate(timeout=60)
    rest, _ = first.communicate(timeout=60)
    lines = [json.loads(line) for line in rest.splitlines()]
    assert [line["text"] for line in lines if line["type"] in ("text", "result")] == ["answer one", "answer one"]
    assert (second.returncode, out) == (0, "answer two\n")


def test_many_processes_attach_to_one_session_and_each_gets_its_answer(home):
    replies = [{"text": f"reply {n}", "chunk": 2, "pace": 0.02} for n in range(40)]
    model = home.script(*replies, then={"text": "more"})
    first = home.start("run", "--format", "json", "--model", model, "begin")
    session = json.loads(first.stdout.readline())["session"]
    others = [home.start("run", "--session", session, "--model", model, f"prompt {n}") for n in range(6)]
    ends = [process.communicate(timeout=60) for process in (first, *others)]
    assert [process.returncode for process in (first, *others)] == [0] * 7, ends
    assert all("Traceback" not in beside for _, beside in ends)
    assert all(out.strip() for out, _ in ends)


def test_extend_says_what_became_of_it(home):
    replies = [{"delay": 0.6, **calls(("grep", {"pattern": f"x{n}"}))} for n in range(150)]
    process = home.start("run", "--format", "json", "--model", home.script(*replies), "--steps", "195", "go")
    session = begun(process)
    assert home.run("extend", session, "--steps", "+25").stdout == "steps +5\n"
    refused = home.run("extend", session, "--cost", "+2")
    assert (refused.returncode, "cost not extended: no such limit is set" in refused.stderr) == (2, True)
    assert "must not be negative" in home.run("extend", session, "--steps=-3").stderr
    process.kill()
    process.communicate()
    waiting = home.run("extend", session, "--tool-calls", "+5")
    assert "is waiting: no process drives the session now" in waiting.stdout
    assert "interrupted" in home.run("sessions").stdout


class Terminal:
    """A real terminal with a person at it."""

    def __init__(self, home, *words):
        self.text = ""
        self.process, self.handle = pty.fork()
        if self.process == 0:
            os.chdir(home.project)
            os.execvpe(BRIDLE, ["bridle", *words], {**home.environment, "TERM": "xterm-256color"})

    def until(self, words, seconds=60):
        end = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < end, self.text
            if readable(self.handle, 0.1):
                try:
                    self.text += os.read(self.handle, 4096).decode()
                except OSError:
                    break
        assert words in self.text, self.text

    def type(self, keys):
        os.write(self.handle, keys.encode())

    def status(self):
        _, status = os.waitpid(self.process, 0)
        os.close(self.handle)
        return os.waitstatus_to_exitcode(status)


@pytest.fixture
def asking(home):
    model = home.script(calls(("bash", {"command": "touch made"})), {"text": "All right."})
    return home, Terminal(home, "run", "--model", model, "go")


def test_on_a_terminal_the_question_is_asked_in_place(asking):
    home, terminal = asking
    terminal.until("[o]nce")
    terminal.type("\n")
    terminal.type("o\n")
    terminal.until("answered: 2 steps")
    assert (terminal.status(), (home.project / "made").exists()) == (0, True)


def test_a_question_from_below_is_asked_in_place_and_nothing_is_told_twice(home):
    child = home.script(calls(("bash", {"command": "touch made"})), {"text": "Made."}, name="child.json")
    config = home.folder / ".config" / "bridle"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(f'[agents.general]\nmodel = "{child}"\n')
    task = ("task", {"description": "a piece", "prompt": "make it", "subagent_type": "general"})
    terminal = Terminal(home, "run", "--model", home.script(calls(task), {"text": "All made."}), "go")
    terminal.until("[o]nce")
    terminal.type("o\n")
    terminal.until("answered: 2 steps")
    assert (terminal.status(), (home.project / "made").exists()) == (0, True)
    said = [line for line in re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "", terminal.text).splitlines() if "▱" not in line]
    told = [line.strip() for line in said if "step" in line and "·" in line]
    assert told == ["│ step 1/200 · general", "│ step 2/200 · general"]


WAITS = "while [ ! -e made ]; do sleep 0.05; done; touch seen"


def test_a_question_from_below_is_asked_at_once_while_the_rest_of_the_tree_goes_on(home):
    """The second subagent ends only after the person has answered the first."""
    asks = home.script(calls(("bash", {"command": "touch made"})), {"text": "Made."}, name="asks.json")
    works = home.script(calls(("bash", {"command": WAITS})), {"text": "Seen."}, name="works.json")
    config = home.folder / ".config" / "bridle"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(
        '[permission.bash]\n"*" = "allow"\n"touch made" = "ask"\n'
        f'[agents.general]\nmodel = "{asks}"\n[agents.explore]\nmodel = "{works}"\n'
        '[agents.explore.permission]\nbash = "allow"\n'
    )
    tasks = [
        ("task", {"description": "a piece", "prompt": "go", "subagent_type": name}) for name in ("explore", "general")
    ]
    terminal = Terminal(home, "run", "--model", home.script(calls(*tasks), {"text": "All made."}), "go")
    terminal.until("[o]nce")
    assert "✓ subagent" not in terminal.text
    terminal.type("o\n")
    terminal.until("answered: 2 steps")
    assert (terminal.status(), (home.project / "made").exists(), (home.project / "seen").exists()) == (0, True, True)
    # Put once, and what happened meanwhile is told once.
    assert terminal.text.count("[o]nce") == 1
    said = [line for line in re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "", terminal.text).splitlines() if "▱" not in line]
    assert sum("✓ subagent" in line for line in said) == 2
    assert sorted(line.strip() for line in said if "step 2" in line and "·" in line) == [
        "│ step 2/200 · explore",
        "│ step 2/200 · general",
    ]


def test_a_question_is_taken_back_when_its_turn_ends_meanwhile(asking):
    home, terminal = asking
    terminal.until("[o]nce")
    session = re.search(r"ses_\w+", terminal.text)[0]
    assert home.run("abort", session).returncode == 0
    terminal.until("the turn has ended")
    terminal.until("Aborted")
    assert terminal.status() == 130


def test_a_rejection_with_a_reason_goes_on_and_one_without_ends(asking):
    home, terminal = asking
    terminal.until("[o]nce")
    terminal.type("r use another name\n")
    terminal.until("answered: 2 steps")
    assert (terminal.status(), (home.project / "made").exists()) == (0, False)
    again = Terminal(home, "run", "--model", f"scripted:{home.folder / 'script.json'}", "go")
    again.until("[o]nce")
    again.type("r\n")
    again.until("Stopped because a person said no")
    assert again.status() == 4


def test_ctrl_c_at_the_question_aborts(asking):
    _, terminal = asking
    terminal.until("[o]nce")
    terminal.type("\x03")
    terminal.until("Aborted")
    assert terminal.status() == 130


def test_ctrl_c_twice_leaves_at_once(home):
    config = home.folder / ".config" / "bridle" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permission]\nbash = "allow"\n')
    model = home.script(calls(("bash", {"command": "trap '' TERM; sleep 5"})), {"text": "never"})
    terminal = Terminal(home, "run", "--model", model, "go")
    terminal.until("● bash  trap")
    terminal.type("\x03\x03")
    assert terminal.status() == 130


def test_help_and_version_load_nothing_that_runs():
    watch = "import sys\ntry:\n import bridle.surfaces.cli.main as m; m.main()\nfinally:\n"
    watch += " print({'bridle.runtime', 'asyncio', 'msgspec'} & set(sys.modules), file=sys.stderr)"
    for word in ("--help", "--version"):
        done = subprocess.run([sys.executable, "-c", watch, word], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "set()\n")


def test_a_run_loads_nothing_that_it_does_not_need(home):
    watch = "import sys\ntry:\n import bridle.surfaces.cli.main as m; m.main()\nfinally:\n"
    watch += " heavy = {'pydantic', 'rich', 'textual', 'mcp', 'httpx2', 'psycopg', 'psycopg_pool', 'procrastinate'}\n"
    watch += " print(heavy & set(sys.modules), file=sys.stderr)"
    words = ["run", "--log-level", "quiet", "--model", home.script({"text": "Hi."}), "--tool", "bash=off", "go"]
    command = [sys.executable, "-c", watch, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=home.project, env=home.environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hi.\n", "set()\n")


def test_every_command_of_the_help_is_there_and_has_an_example():
    for name in COMMANDS:
        loaded = load(name)
        group = isinstance(loaded, typer.Typer)
        found = [info.callback for info in loaded.registered_commands] if group else [loaded]
        assert found, name
        for function in found:
            assert "Example" in (function.__doc__ or ""), (name, function)


def test_a_mistyped_command_is_told_which_was_meant(home):
    done = home.run("undu")
    assert (done.returncode, "Did you mean 'undo'?" in done.stderr) == (2, True)


def test_shell_completion_knows_the_commands(home):
    done = home.run(**{"_BRIDLE_COMPLETE": "complete_bash", "COMP_WORDS": "bridle re", "COMP_CWORD": "1"})
    assert set(done.stdout.split()) == {"resume", "redo", "replay", "report"}


@pytest.mark.parametrize("system", ["win32", "freebsd14", "cygwin"])
def test_other_systems_are_refused_in_a_sentence(system):
    code = (
        "import sys; sys.modules['fcntl'] = sys.modules['pwd'] = None; from bridle.surfaces.cli.main import main; "
        f"sys.platform = {system!r}; main()"
    )
    done = subprocess.run([sys.executable, "-c", code, "doctor"], capture_output=True, text=True, check=False)
    words = f"bridle: {system} is not supported: Bridle runs on Linux and macOS, and on Windows inside WSL\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", words)
    library = code.replace("main()", "from bridle import Agent")
    done = subprocess.run([sys.executable, "-c", library], capture_output=True, text=True, check=False)
    assert f"ImportError: {words.removeprefix('bridle: ')}" in done.stderr
