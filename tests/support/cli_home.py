"""A person's home and project, with the real command in it: started anew, or forked from a process that has loaded."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from bridle.wire.events import LineEvent
from support import fork_server as forked

BRIDLE = Path(sys.executable).parent / "bridle"


class Home:
    """A person with a home and a project, who starts the command there."""

    def __init__(self, folder: Path, project: Path) -> None:
        self.folder = folder
        self.project = project
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("BRIDLE_", "XDG_")) and not name.endswith("_API_KEY")
        }
        self.environment = {**clean, "HOME": str(folder), "PYTHONUNBUFFERED": "1", "BRIDLE_SANDBOX__MODE": "off"}

    def script(self, *replies: Any, then: Any = None, name: str = "script.json", **more: Any) -> str:
        path = self.folder / name
        path.write_text(json.dumps({"replies": list(replies), "then": then, **more}))
        return f"scripted:{path}"

    def start(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [BRIDLE, *words],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )

    def run(self, *words: str | Path, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        return self.started(BRIDLE, *words, given=given, **environment)

    def started(self, *words: str | Path, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.project,
            env={**self.environment, **environment},
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def json(self, *words: str | Path, given: str = "", **environment: str) -> tuple[int, list[Any]]:
        done = self.run("run", "--format", "json", *words, given=given, **environment)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines[-1]["type"] == "result", done.stderr
        # Every line that any test ever reads keeps the contract.
        assert [breach for line in done.stdout.splitlines() if (breach := breach_of(line))] == []
        return done.returncode, lines


class ForkedHome(Home):
    """For stories about what a command does, told with many of them: each is a fork of a process that has loaded.

    Of each command and option that no story of `Home` starts, one is started anew.
    """

    def run(self, *words: str | Path, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        return forked.run(words, self.project, {**self.environment, **environment}, given)

    def anew(self, *words: str | Path, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        return super().run(*words, given=given, **environment)


def breach_of(line: str) -> str:
    """In what a line breaks the contract of `--format json`; nothing if it does not."""
    try:
        msgspec.json.decode(line, type=LineEvent)
    except msgspec.ValidationError as error:
        return f"{error}: {line}"
    return ""


def calls(*made: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments} for name, arguments in made]}


@contextmanager
def stopped(process: subprocess.Popen[str]) -> Iterator[None]:
    """Hold a process as it is, so that others come between, however slow they are."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def begun(process: subprocess.Popen[str]) -> str:
    """The session of a process that has asked its model for the first time."""
    assert process.stdout is not None and process.stderr is not None
    for line in process.stdout:
        if '"step_start"' in line:
            return str(json.loads(line)["session"])
    raise AssertionError(process.stderr.read())


def settings(home: Home, text: str) -> None:
    folder = home.folder / ".config" / "bridle"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)
