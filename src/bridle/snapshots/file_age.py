"""Reads the creation time of a file with `statx`; `preexisting_files` compares it with the time of a snapshot."""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache
from pathlib import Path

AT_FDCWD, AT_SYMLINK_NOFOLLOW = -100, 0x100
STATX_BTIME = 0x800
MASK_AT, BTIME_AT, SIZE = 0, 80, 256
SECOND = 10**9


@cache
def _kernel() -> ctypes.CDLL | None:
    """Return the C library if it has `statx`; Python's `os.stat` does not report creation times on Linux."""
    library = ctypes.CDLL(None, use_errno=True)
    return library if hasattr(library, "statx") else None


def born_ns(path: Path, found: os.stat_result) -> int:
    """Return a file's creation time in nanoseconds, or its ctime if the creation time is unknown."""
    made = getattr(found, "st_birthtime", None)
    if made is not None:
        return int(made * SECOND)
    library = _kernel()
    told = ctypes.create_string_buffer(SIZE)
    if library is None or library.statx(AT_FDCWD, os.fsencode(path), AT_SYMLINK_NOFOLLOW, STATX_BTIME, told):
        return found.st_ctime_ns
    (mask,) = struct.unpack_from("=I", told, MASK_AT)
    seconds, rest = struct.unpack_from("=qI", told, BTIME_AT)
    return int(seconds * SECOND + rest) if mask & STATX_BTIME else found.st_ctime_ns
