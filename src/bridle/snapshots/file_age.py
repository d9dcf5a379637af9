"""Since when a file has been there, as its file system tells."""

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
    """The C library, if it knows the call that tells when a file was made; Python's own does not ask for that."""
    library = ctypes.CDLL(None, use_errno=True)
    return library if hasattr(library, "statx") else None


def born_ns(path: Path, found: os.stat_result) -> int:
    """When a file was made; where that is not known, when anything of it was changed last."""
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
