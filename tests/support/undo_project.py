"""A project under git in which turns change files, to be undone."""

import os
import subprocess

from support.cli_home import calls

GIT = {
    **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "t"),
    **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "t@example.org"),
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
}


def git(folder, *arguments):
    return subprocess.run(["git", *arguments], cwd=folder, env=GIT, check=True, capture_output=True, text=True).stdout


def turn(home, command, session=None, prompt="go", answer="Done."):
    script = home.script(calls(("bash", {"command": command})), {"text": answer})
    where = ("--session", session) if session else ()
    code, lines = home.json("--model", script, "--on-ask", "allow", *where, prompt)
    assert (code, lines[-1]["reason"]) == (0, "answered")
    return lines[-1]


def files(project):
    return {
        str(path.relative_to(project)): path.read_bytes()
        for path in sorted(project.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(project).parts
    }


def write(project, name, content):
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
