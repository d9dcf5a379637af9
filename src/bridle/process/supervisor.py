"""Supervisor process of one command: starts and limits it, kills all it leaves behind, restores protected files.

It runs as a standalone script, without Bridle's packages. Its standard input is its lifeline: when that closes,
because the call was ended or because Bridle died, everything ends. A command that depends on a lease may run only
until a moment, which signals through the lifeline move: a frozen Bridle sends none. Processes that a command leaves
behind, also in sessions of their own, become children of the supervisor, since it is a subreaper. So it can find and
kill them.
"""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import os
import resource
import select
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIFELINE = 0
SWEEP_MILLISECONDS = 5
LOOK_MILLISECONDS = 50
WAKE_MILLISECONDS = 1000
SIGNAL_BYTES = 8
MOST_SIGNALS = 512
NOT_STARTED = 127
PAGE = resource.getpagesize()
LEAST_FREE = 128 << 20
BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
POLLED = select.POLLIN | select.POLLHUP
POLLED_END = 0
"""The end of a pipe is told without being asked for."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.process.restore_protected import Guard


def main(words: list[str]) -> int:
    """Run the command until it ends or the lifeline closes; return its exit status, 128 and more for signals.

    The command follows its bounds, as NAME=NUMBER, and a `--`. Two processes supervise it: a command without a sandbox
    could kill a single one, and the processes it started would run free. Each is woken when the one above it dies or
    finds it stopped. Above the outer one is Bridle, the `parent` among the bounds. The inner one alone reads signals.
    """
    split = words.index("--")
    bounds = {name: int(value) for name, _, value in (word.partition("=") for word in words[:split])}
    guard = None
    if "watch" in bounds:
        # The command must not inherit it: it could write its own report.
        os.set_inheritable(bounds["watch"], False)
        guard = guarded(bounds["watch"])
    if not settled_below(bounds.get("parent", os.getppid())):
        return NOT_STARTED
    theirs, ours = os.pipe()
    outer = os.getpid()
    inner = os.fork()
    if not inner:
        os.close(ours)
        if not settled_below(outer):
            os._exit(NOT_STARTED)
        if "until" in bounds:
            bounds["until"] = signalled(bounds["until"])
            if is_over(bounds["until"]):
                os._exit(NOT_STARTED)
        child = start(words[split + 1 :], bounds)
        os._exit(sweep(child, kept(child, bounds, theirs)))
    os.close(theirs)
    code = sweep(inner, outlived(inner, POLLED_END if "until" in bounds else POLLED))
    if guard is not None:
        found = marshal.dumps([vars(one) for one in guard.look()])
        os.ftruncate(bounds["watch"], 0)
        os.pwrite(bounds["watch"], found, 0)
    return code


def guarded(handle: int) -> Guard:
    """Copy the protected files that the watch in this handle names."""
    here = os.path.dirname(os.path.abspath(__file__))
    for name, folder in (("bridle", os.path.dirname(here)), ("bridle.process", here)):
        # Only the packages' folders are registered: importing Bridle itself takes longer than most commands.
        package = type(sys)(name)
        package.__path__ = [folder]
        sys.modules[name] = package
    from bridle.process.protected_places import PlaceWatch
    from bridle.process.restore_protected import Guard

    with os.fdopen(os.dup(handle), "rb") as given:
        return Guard(PlaceWatch(**marshal.load(given)))


def outlived(inner: int, lifeline_events: int) -> int:
    """Wait for the end of the inner process; wake it if a command has stopped it or the lifeline has closed."""
    poll, tells_end = watching(inner)
    poll.register(LIFELINE, lifeline_events)
    while True:
        events = [handle for handle, _ in poll.poll(WAKE_MILLISECONDS if tells_end else LOOK_MILLISECONDS)]
        status, _ = buried(inner)
        if status is not None:
            return status
        if LIFELINE in events:
            poll.unregister(LIFELINE)
        if LIFELINE in events or not events:
            with contextlib.suppress(ProcessLookupError):
                os.kill(inner, signal.SIGCONT)


def watching(child: int, *handles: int) -> tuple[select.poll, bool]:
    """Return a poll on these handles and on the end of a child, and whether it tells that end: some systems cannot."""
    poll = select.poll()
    for handle in handles:
        poll.register(handle, POLLED)
    if not hasattr(os, "pidfd_open"):
        return poll, False
    poll.register(os.pidfd_open(child), select.POLLIN)
    return poll, True


def kept(child: int, bounds: dict[str, int], outer: int) -> int | None:
    """Wait until the command, the lifeline or the outer process ends, or a bound is exceeded."""
    poll, tells_end = watching(child, LIFELINE, outer)
    processes, memory, disk = (bounds.get(name, 0) for name in ("processes", "total_memory", "disk"))
    bounded = bool(processes or memory or disk)
    pause = SWEEP_MILLISECONDS if not tells_end else LOOK_MILLISECONDS if bounded else None
    until = bounds.get("until")
    free = free_bytes() if disk else 0
    status: int | None = None
    while status is None:
        events = dict(poll.poll(pause if until is None else shortened(pause, until)))
        status, _ = buried(child)
        if until is not None and events.get(LIFELINE) == select.POLLIN:
            until = signalled(until)
            del events[LIFELINE]
        if LIFELINE in events or outer in events or (until is not None and is_over(until)):
            break
        why = exceeded(processes, memory, disk, free) if bounded else ""
        if why:
            os.write(1, f"\n[ended: {why}]\n".encode())
            break
    return status


def signalled(until: int) -> int:
    """Return the moment that the newest signal in the lifeline names; without any, the given one."""
    while select.select([LIFELINE], [], [], 0)[0]:
        signals = os.read(LIFELINE, SIGNAL_BYTES * MOST_SIGNALS)
        if not signals:
            break
        until = int.from_bytes(signals[-SIGNAL_BYTES:], "little")
    return until


def is_over(until: int) -> bool:
    return time.clock_gettime_ns(BOOT_CLOCK) >= until


def shortened(pause: int | None, until: int) -> int:
    """Return the milliseconds of a pause that ends with this moment, and soon if the machine slept meanwhile."""
    left = max(0, until - time.clock_gettime_ns(BOOT_CLOCK)) // 1_000_000 + 1
    return min(WAKE_MILLISECONDS if pause is None else pause, left)


def exceeded(processes: int, memory: int, disk: int, free_before: int) -> str:
    """Return the bound that a command exceeds with everything that it started, in words; empty if none. 0 is none."""
    # Elsewhere all processes would have to be listed each time: there the limits of a single process hold.
    running = below(os.getpid()) if sys.platform == "linux" else []
    if processes and len(running) > processes:
        return f"more than {processes} processes"
    if memory and sum(map(resident_bytes, running)) > memory:
        return f"more than {memory >> 20} MB of memory"
    free = free_bytes() if disk else 0
    if disk and free_before - free > disk:
        return f"more than {disk >> 20} MB of disk"
    return "the disk is full" if disk and free < LEAST_FREE < free_before - free else ""


def free_bytes() -> int:
    """Return the free bytes of the file system with the folder that the command started in."""
    found = os.statvfs(".")
    return found.f_bavail * found.f_frsize


def resident_bytes(pid: int) -> int:
    fields = read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * PAGE if len(fields) > 1 else 0


def settled_below(parent: int) -> bool:
    """Become a subreaper that is woken when its parent dies; return whether the parent is alive.

    Orphans become our children instead of those of the system's first process. A command may have stopped us, hence
    the signal. The end of the thread that started us sends it too, which is harmless.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGCONT), 0, 0, 0)
    return os.getppid() == parent


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
        # A command must not inherit signals that Python, or the process that started it, ignores.
        for number in signal.valid_signals():
            if signal.getsignal(number) == signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execv(command[0], command)
    finally:
        os._exit(NOT_STARTED)


def lower(limit: int, most: int) -> None:
    """Set a resource limit, but never above the hard limit that is already set."""
    _, hard = resource.getrlimit(limit)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (most, most))


def buried(child: int) -> tuple[int | None, bool]:
    """Reap all ended children; return the status of the command, if it has ended, and whether any child is left."""
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
    """Kill all remaining processes until none is left; return the command's exit code, 128 and more for signals."""
    while True:
        if sys.platform != "linux":
            # Without a subreaper its orphans are no children of ours, but most are still in its group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
        for pid in below(os.getpid()):
            # It may have ended, or belong to another user; if it remains, it is found again.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        found, left = buried(child)
        status = found if found is not None else status
        if not left:
            code = os.waitstatus_to_exitcode(status if status is not None else signal.SIGKILL)
            return code if code >= 0 else 128 - code
        select.poll().poll(SWEEP_MILLISECONDS)


def below(root: int) -> list[int]:
    """Return every process below this one."""
    found: list[int] = []
    waiting = [root]
    of = children if sys.platform == "linux" else listed()
    while waiting:
        mine = of(waiting.pop())
        found += mine
        waiting += mine
    return found


def children(pid: int) -> list[int]:
    """Return the children of all threads of a process."""
    with contextlib.suppress(OSError):
        threads = [entry.path for entry in os.scandir(f"/proc/{pid}/task")]
        return [int(name) for thread in threads for name in read(f"{thread}/children").split()]
    return []


def listed() -> Callable[[int], list[int]]:
    """Return the function that gives the children of a process, from one list of all processes."""
    # Imported where there is no /proc: it takes longer than most commands.
    import subprocess

    given = subprocess.run(["/bin/ps", "-A", "-o", "pid=,ppid="], stdin=subprocess.DEVNULL, capture_output=True)
    found: dict[int, list[int]] = {}
    for line in given.stdout.decode().splitlines():
        pid, parent = map(int, line.split())
        found.setdefault(parent, []).append(pid)
    return lambda pid: found.get(pid, [])


def read(path: str) -> bytes:
    with contextlib.suppress(OSError), open(path, "rb", buffering=0) as opened:
        return opened.read(1 << 20) or b""
    return b""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
