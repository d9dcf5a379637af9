"""Runs Python as it is on macOS: its platform's name, and without what only Linux has. Takes the interpreter's words.

A script that starts it stands in for the interpreter, so that all processes that Bridle starts run in the same way.
"""

from __future__ import annotations

import asyncio
import os
import platform
import runpy
import shlex
import subprocess
import sys
import sysconfig
import urllib.request
from pathlib import Path
from typing import Any

LOADED = (asyncio, platform, subprocess, sysconfig.get_config_vars(), urllib.request)
"""Loaded before: the standard library is macOS's own there, and would look for it."""
ONLY_LINUX = (
    "O_PATH",
    "O_TMPFILE",
    "copy_file_range",
    "eventfd",
    "getxattr",
    "listxattr",
    "memfd_create",
    "pidfd_open",
    "posix_fadvise",
    "posix_fallocate",
    "removexattr",
    "sched_getaffinity",
    "setns",
    "setxattr",
    "splice",
    "unshare",
    "waitid",
)
"""What the module `os` has on Linux only."""
NO_PROGRAMS = ("bwrap", "setsid", "systemctl")
HIDDEN = ("/proc", "/sys")


def interpreter(folder: Path) -> Path:
    """Write a program that stands in for Python, and return its path."""
    path = folder / "python"
    words = shlex.join([sys.executable, str(Path(__file__)), str(path)])
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)
    return path


def programs(folder: Path) -> Path:
    """Make a folder with the programs of this machine but those that macOS has not, and return its path."""
    made = folder / "programs"
    made.mkdir()
    for place in ("/usr/local/bin", "/usr/bin", "/bin"):
        for program in Path(place).iterdir():
            if program.name not in NO_PROGRAMS and not (made / program.name).is_symlink():
                (made / program.name).symlink_to(program)
    return made


def become(python: str) -> None:
    """Make this process one on macOS, with this interpreter."""
    sys.platform = "darwin"
    sys.executable = python
    for name in ONLY_LINUX:
        if hasattr(os, name):
            delattr(os, name)
    kernel = os.uname()
    named: Any = os.uname_result(("Darwin", kernel.nodename, "25.0.0", "Darwin Kernel Version 25.0.0", "arm64"))
    os.uname = lambda: named
    platform.system = lambda: "Darwin"
    sys.addaudithook(_hidden)
    for name in ("readlink", "stat", "lstat"):
        setattr(os, name, _without_linux(getattr(os, name)))


def _without_linux(call: Any) -> Any:
    def called(path: Any, *given: Any, **named: Any) -> Any:
        if isinstance(path, (str, bytes, os.PathLike)):
            _hidden("open", (os.fspath(path),))
        return call(path, *given, **named)

    return called


def _hidden(event: str, given: tuple[Any, ...]) -> None:
    """There are no files of the Linux kernel."""
    if event in ("open", "os.listdir", "os.scandir") and given and isinstance(given[0], (str, bytes)):
        path = os.fsdecode(given[0])
        if path.startswith(HIDDEN):
            raise FileNotFoundError(2, "No such file or directory", path)


def main() -> None:
    _, python, *words = sys.argv
    while words and words[0] in ("-I", "-S", "-u"):
        words.pop(0)
    become(python)
    sys.path.pop(0)
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        exec(words[1], {"__name__": "__main__"})
    else:
        sys.argv = words
        sys.path.insert(0, str(Path(words[0]).parent))
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main()
