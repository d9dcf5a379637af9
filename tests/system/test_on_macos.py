"""Bridle as it runs on macOS, as far as that can be tried here: without Linux's system calls, /proc and sandbox."""

import subprocess
import time
import uuid

import pytest
from support.as_macos import interpreter, programs
from support.cli_home import Home, calls

MAIN = "from bridle.surfaces.cli.main import main; main()"
PATIENCE_SECONDS = 60


@pytest.fixture
def mac(tmp_path):
    """A person on macOS, who starts the command there."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "hello.txt").write_text("hello\n")
    home = Home(tmp_path, project)
    del home.environment["BRIDLE_SANDBOX__MODE"]
    home.environment["PATH"] = str(programs(tmp_path))
    python = home.python = interpreter(tmp_path)
    home.bridle = lambda *words, **more: home.started(python, "-c", MAIN, *words, **more)
    return home


def bash(command, **more):
    return ("bash", {"command": command, "description": "Run", **more})


def running(sign):
    """Return the processes whose command line has this word."""
    done = subprocess.run(["pgrep", "-f", sign], capture_output=True, text=True, check=False)
    return done.stdout.split()


def test_files_commands_undo_and_sessions_work(mac):
    edit = ("edit", {"filePath": "hello.txt", "oldString": "hello", "newString": "good day"})
    read = ("read", {"filePath": "hello.txt"})
    replies = calls(read), calls(edit), calls(bash("cat hello.txt > copy.txt; cat copy.txt")), "Done."
    done = mac.bridle("run", "--model", mac.script(*replies), "--on-ask", "allow", "go")
    assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
    assert (mac.project / "copy.txt").read_text() == "good day\n"
    assert mac.bridle("undo").returncode == 0
    assert (mac.project / "hello.txt").read_text() == "hello\n" and not (mac.project / "copy.txt").exists()
    assert mac.bridle("replay").returncode == 0
    assert mac.bridle("sessions").stdout.startswith("ses_")


def test_a_command_asks_since_there_is_no_sandbox(mac):
    done = mac.bridle("run", "--model", mac.script(calls(bash("touch made.txt")), "Refused."), "go")
    assert (done.returncode, done.stdout) == (4, "Refused.\n"), done.stderr
    assert not (mac.project / "made.txt").exists()


def test_the_doctor_says_what_is_missing(mac):
    done = mac.bridle("doctor")
    assert done.returncode == 0 and "Traceback" not in done.stdout + done.stderr
    assert "✗ Darwin: some features need Linux" in done.stdout
    assert "✗ no sandbox: the sandbox needs Linux" in done.stdout


def test_a_command_that_runs_out_of_time_leaves_no_process(mac):
    sign = f"600.{uuid.uuid4().int % 10**9}"
    command = f"sleep {sign} & (sleep {sign} &) ; nohup sleep {sign} & sleep {sign}"
    replies = calls(bash(command, timeout=1000)), "Late."
    done = mac.bridle("run", "--model", mac.script(*replies), "--on-ask", "allow", "go")
    assert (done.returncode, done.stdout) == (0, "Late.\n"), done.stderr
    until = time.monotonic() + PATIENCE_SECONDS
    while running(sign) and time.monotonic() < until:
        time.sleep(0.1)
    assert running(sign) == []


def test_a_person_may_trust_a_project_and_a_command_may_not(mac):
    assert mac.bridle("trust").returncode == 0
    words = f"{mac.python} -c '{MAIN}' permissions; {mac.python} -c '{MAIN}' sessions"
    done = mac.bridle("run", "--model", mac.script(calls(bash(words)), "Tried."), "--on-ask", "allow", "go")
    assert (done.returncode, done.stdout) == (0, "Tried.\n"), done.stderr
    shown = mac.bridle("show").stdout
    assert "`bridle permissions` is for people: it is refused inside a tool call" in shown
    assert "this should not have happened" not in shown and "ses_" in shown
