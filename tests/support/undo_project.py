"""A project under git in which turns change files, to be undone."""

import os
import subprocess
from pathlib import Path
from typing import Any

from support.cli_home import Home, calls

GIT = {
    **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "t"),
    **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "t@example.org"),
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
}


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, env=GIT, check=True, capture_output=True, text=True).stdout


def turn(home: Home, command: str, session: str | None = None, prompt: str = "go", answer: str = "Done.") -> Any:
    script = home.script(calls(("bash", {"command": command})), {"text": answer})
    where = ("--session", session) if session else ()
    code, lines = home.json("--model", script, "--on-ask", "allow", *where, prompt)
    assert (code, lines[-1]["reason"]) == (0, "answered")
    return lines[-1]


def files(project: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(project)): path.read_bytes()
        for path in sorted(project.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(project).parts
    }


def write(project: Path, name: str, content: bytes) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
