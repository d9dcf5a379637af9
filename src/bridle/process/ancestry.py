"""Finds supervisors and session drivers above this process, to tell whether it runs inside a tool call."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

PROC = Path("/proc")
FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The kernel's fixed number for the machine's own PID namespace."""
SUPERVISORS = ("bridle", "process")
"""The folder of the scripts that supervise commands."""
SUPERVISED = re.compile(r"python\S* .*/bridle/process/\w+\.py\b")
"""The command line of such a script."""
LOCKS = ".locks"
LOOKS = 20
"""How often the ancestors are read while they change."""


class Ancestor(NamedTuple):
    """A process above this one that belongs to a tool call of Bridle's."""

    environment: dict[str, str] | None
    """None if it cannot be read, though the process belongs to this user."""
    locks: frozenset[str]
    """The lock folders in which it holds session locks."""


UNKNOWN = Ancestor(None, frozenset())
"""Stands for the ancestors of a process that is gone, or whose ancestors change faster than they can be read."""


def bridle_ancestors(process: int | None = None) -> list[Ancestor]:
    """Return the supervisors above a process, the process that started each, and processes that drive a session.

    Without a number it is this process. A process that is gone has an `UNKNOWN` ancestor: it may have left its
    connection to one that runs inside a call.
    """
    if sys.platform != "linux":
        return _listed_ancestors(os.getpid() if process is None else process)
    name = "self" if process is None else str(process)
    if process is None and not _read(name, "stat"):
        return []
    for _ in range(LOOKS):
        above = _above(name)
        found = _of_bridle(above) if above is not None else []
        # One that ends meanwhile gives its children to another parent.
        if above is not None and above == _above(name):
            return found
    return [UNKNOWN]


def _listed_ancestors(process: int) -> list[Ancestor]:
    """Return the supervisors above a process where there is no /proc: neither environments nor locks are visible."""
    # Imported where it is needed: it takes a part of the time of a short command.
    import subprocess

    command = ["/bin/ps", "-A", "-ww", "-o", "pid=,ppid=,command="]
    lines = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout.splitlines()
    listed = {
        int(pid): (int(parent), words) for pid, parent, words, *_ in ((*line.split(None, 2), "") for line in lines)
    }
    if process not in listed:
        return [UNKNOWN]
    found: list[Ancestor] = []
    while process in listed:
        parent, words = listed.pop(process)
        if SUPERVISED.search(words.partition(" -- ")[0]):
            found.append(UNKNOWN)
        process = parent
    return found


def _of_bridle(above: list[int]) -> list[Ancestor]:
    found: list[Ancestor] = []
    supervised = False
    for pid in above:
        locks = _locks(pid)
        is_supervisor = _is_supervisor(pid)
        if is_supervisor or supervised or locks:
            mine, environment = _environment(pid)
            if mine:
                found.append(Ancestor(environment, locks))
        supervised = is_supervisor
    return found


def sees_all_ancestors() -> bool:
    """Return whether all ancestors are visible; False in a container, or where Linux's /proc is missing."""
    if sys.platform != "linux":
        return True
    with suppress(OSError):
        return str((PROC / "self/ns/pid").readlink()) == FIRST_PID_NAMESPACE
    return False


def hides_a_driver(folder: Path) -> bool:
    """Return whether an invisible process, which may be an ancestor, holds a session lock in this folder."""
    try:
        held = {str(path.resolve()) for path in folder.glob("*.lock") if is_held(path)}
    except OSError:
        return False
    if not held:
        return False
    visible = {path for entry in PROC.iterdir() if entry.name.isdecimal() for path in _open_files(int(entry.name))}
    return not held <= visible


def _above(process: str) -> list[int] | None:
    """Return the visible processes above one, its parent first; None if one has ended meanwhile."""
    # Not os.getpid(): /proc may belong to another PID namespace, where this process has another pid.
    pid = _parent(process)
    found: list[int] = []
    while pid and pid not in found:
        found.append(pid)
        pid = _parent(str(pid))
    return None if pid is None else found


def _parent(pid: str) -> int | None:
    """Return the parent of a process; 0 if it has none or may not be seen, None if the process is gone."""
    # The program's name is in parentheses and may contain any characters.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    if len(fields) > 1:
        return int(fields[1])
    return 0 if _is_hidden(int(pid)) else None


def _is_hidden(pid: int) -> bool:
    """Return whether a process of another user exists that /proc does not show (mounted with hidepid)."""
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return False


def _is_supervisor(pid: int) -> bool:
    words = _read(str(pid), "cmdline").split(b"\0")
    words = words[: words.index(b"--")] if b"--" in words else words
    python = bool(words) and PurePosixPath(os.fsdecode(words[0])).name.startswith("python")
    scripts = (PurePosixPath(os.fsdecode(word)) for word in words[1:])
    return python and any(script.suffix == ".py" and script.parts[-3:-1] == SUPERVISORS for script in scripts)


def _environment(pid: int) -> tuple[bool, dict[str, str] | None]:
    """Return whether a process belongs to this user, and the environment it was started with."""
    try:
        mine = (PROC / str(pid)).stat().st_uid == os.getuid()
        raw = (PROC / str(pid) / "environ").read_bytes()
    except FileNotFoundError:
        return False, None
    except OSError:
        return mine, None
    pairs = (os.fsdecode(pair).partition("=") for pair in raw.split(b"\0") if pair)
    return True, {name: value for name, _, value in pairs}


def _locks(pid: int) -> frozenset[str]:
    files = (Path(path) for path in _open_files(pid))
    return frozenset(str(path.parent) for path in files if path.suffix == ".lock" and path.parent.name.endswith(LOCKS))


def _open_files(pid: int) -> Iterator[str]:
    try:
        handles = list((PROC / str(pid) / "fd").iterdir())
    except OSError:
        return
    for handle in handles:
        # It may have been closed in the meantime.
        with suppress(OSError):
            yield str(handle.readlink())


def is_held(path: Path) -> bool:
    """Return whether a process holds a lock on the file; raises `OSError`."""
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _read(pid: str, name: str) -> bytes:
    with suppress(OSError):
        return (PROC / pid / name).read_bytes()
    return b""
