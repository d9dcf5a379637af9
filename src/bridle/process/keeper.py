"""The keeper of one command: a small process that starts it, and lets nothing that it started live longer than itself.

It is run as a script, by itself and without Bridle's packages. Its standard input is its lifeline: when that ends,
because the call was ended or because Bridle died, everything ends. Whatever a command leaves behind, also in sessions
of its own, becomes the keeper's child, since it is a subreaper; so it can be found, and is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys

PR_SET_CHILD_SUBREAPER = 36
LIFELINE = 0
SWEEP_MILLISECONDS = 5
LOOK_MILLISECONDS = 50
NOT_STARTED = 127


def main(words: list[str]) -> int:
    """Run the command to its end, or to the lifeline's; returns its exit status, 128 and more for signals.

    Before the command stand its bounds, as NAME=NUMBER, and a `--`.
    """
    split = words.index("--")
    bounds = {name: int(value) for name, _, value in (word.partition("=") for word in words[:split])}
    adopt_orphans()
    child = start(words[split + 1 :], bounds)
    status = kept(child, bounds.get("processes", 0))
    code = os.waitstatus_to_exitcode(sweep(child, status))
    return code if code >= 0 else 128 - code


def kept(child: int, most: int) -> int | None:
    """Wait for the end of the command or of the lifeline; or until there are too many processes."""
    ended = os.pidfd_open(child) if hasattr(os, "pidfd_open") else -1
    poll = select.poll()
    poll.register(LIFELINE, select.POLLIN | select.POLLHUP)
    if ended >= 0:
        poll.register(ended, select.POLLIN)
    pause = SWEEP_MILLISECONDS if ended < 0 else LOOK_MILLISECONDS if most else None
    status: int | None = None
    while status is None:
        events = [handle for handle, _ in poll.poll(pause)]
        status, _ = buried(child)
        if LIFELINE in events:
            break
        if most and len(below(os.getpid())) > most:
            os.write(1, b"\n[ended: more than %d processes]\n" % most)
            break
    return status


def adopt_orphans() -> None:
    """From here on orphans come to us instead of going to the first process of the system."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def start(command: list[str], bounds: dict[str, int]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        os.dup2(bounds["input"] if "input" in bounds else os.open(os.devnull, os.O_RDONLY), LIFELINE)
        for name, limit in (("memory", resource.RLIMIT_DATA), ("file", resource.RLIMIT_FSIZE)):
            if name in bounds:
                lower(limit, bounds[name])
        lower(resource.RLIMIT_CORE, 0)
        # What Python ignores for itself, or whoever started it, a command must not inherit.
        for number in signal.valid_signals():
            if signal.getsignal(number) == signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execv(command[0], command)
    finally:
        os._exit(NOT_STARTED)


def lower(limit: int, most: int) -> None:
    """A bound may be below what the person has set already, never above."""
    _, hard = resource.getrlimit(limit)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (most, most))


def buried(child: int) -> tuple[int | None, bool]:
    """Take note of all that has ended: the status of the command, if it has, and whether anything is left."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found, False
        if pid == 0:
            return found, True
        if pid == child:
            found = status


def sweep(child: int, status: int | None) -> int:
    """Kill all that is left, until nothing is; the status of the command."""
    while True:
        for pid in below(os.getpid()):
            # It may have ended meanwhile, or be somebody else's; whoever is still there is met again.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        found, left = buried(child)
        status = found if found is not None else status
        if not left:
            return status if status is not None else signal.SIGKILL
        select.poll().poll(SWEEP_MILLISECONDS)


def below(root: int) -> list[int]:
    """Every process under this one."""
    found: list[int] = []
    waiting = [root]
    while waiting:
        mine = children(waiting.pop())
        found += mine
        waiting += mine
    return found


def children(pid: int) -> list[int]:
    """The children of all threads of a process."""
    try:
        threads = [entry.name for entry in os.scandir(f"/proc/{pid}/task")]
    except OSError:
        return []
    return [int(name) for thread in threads for name in read(f"/proc/{pid}/task/{thread}/children").split()]


def read(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(handle, 1 << 20)
    except OSError:
        return b""
    finally:
        os.close(handle)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
