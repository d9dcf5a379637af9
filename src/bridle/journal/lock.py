"""File locks behind the leases of sessions on one machine, ended by their process; `sqlite` adds the epochs."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from bridle.process.ancestry import is_held

LOOKS = 50


def lock_folder(journal: Path) -> Path:
    """Return the folder with the locks of a journal's sessions, the same one for every name of its file."""
    real = Path(os.path.realpath(journal))
    return real.with_name(f"{real.name}.locks")


def take_lock(path: Path) -> int | None:
    """Acquire a lock and return its handle; None while another holds it."""
    looks = 0
    while True:
        handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            looks += 1
            if looks > LOOKS:
                return None
            # Another process may hold it just for a moment, to check whether it is held.
            os.sched_yield()
            continue
        # The previous holder removes the file on release: a lock on a removed file protects nothing.
        if _same_file(handle, path):
            return handle
        os.close(handle)


def drop_lock(handle: int, path: Path) -> None:
    """Release a lock and remove its file if possible: an unlocked file does no harm."""
    with suppress(OSError):
        path.unlink()
    os.close(handle)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock."""
    try:
        return is_held(path)
    except FileNotFoundError:
        return False


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False
