"""Opens files below a folder without ever following a link, by openat2 or, without it, folder by folder."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path, PurePosixPath

OPENAT2 = 437
NO_MAGIC_LINKS, NO_LINKS, BENEATH = 0x02, 0x04, 0x08
NAME_ONLY = getattr(os, "O_PATH", 0)
"""Flag for a handle that only refers to a name; a kernel without O_PATH opens for reading."""
FOLDER = NAME_ONLY | os.O_DIRECTORY


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def _kernel() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@cache
def kernel_resolves() -> bool:
    """Return whether the kernel can walk a path without following links (openat2); some sandboxes lack it."""
    if os.uname().sysname != "Linux":
        return False
    try:
        os.close(_openat2(-100, b".", FOLDER))
    except OSError:
        return False
    return True


def _openat2(folder: int, path: bytes, flags: int) -> int:
    how = _How(flags | os.O_CLOEXEC, 0, NO_MAGIC_LINKS | NO_LINKS | BENEATH)
    handle: int = _kernel().syscall(OPENAT2, folder, path, ctypes.byref(how), ctypes.sizeof(how))
    if handle < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return handle


@contextmanager
def open_below(root: Path, inner: PurePosixPath, flags: int) -> Iterator[int]:
    """Open a path below a folder, with no link on the way, until the context ends; raises `OSError`."""
    flags = _careful(flags)
    base = os.open(root, FOLDER | os.O_CLOEXEC)
    try:
        handle = _openat2(base, os.fsencode(inner), flags) if kernel_resolves() else _open_by_steps(base, inner, flags)
    finally:
        os.close(base)
    try:
        yield handle
    finally:
        os.close(handle)


def _careful(flags: int) -> int:
    """Add flags: a pipe does not block, a terminal is not taken over, and a link is not followed."""
    careful = os.O_CLOEXEC | os.O_NOFOLLOW
    return flags | careful if flags & NAME_ONLY else flags | careful | os.O_NOCTTY | os.O_NONBLOCK


def _open_by_steps(base: int, inner: PurePosixPath, flags: int) -> int:
    *folders, last = inner.parts or (".",)
    folder = os.dup(base)
    try:
        for name in folders:
            folder = _further(folder, name)
        return _opened(last, flags, folder)
    finally:
        os.close(folder)


def _further(folder: int, name: str) -> int:
    """Return a handle on the next folder; closes the given handle on success, and keeps it on failure."""
    found = _opened(name, FOLDER | os.O_NOFOLLOW | os.O_CLOEXEC, folder)
    os.close(folder)
    return found


def _opened(name: str, flags: int, folder: int) -> int:
    if name == "..":
        raise OSError(errno.EXDEV, "leads out of its folder")
    handle = os.open(name, flags, dir_fd=folder)
    if stat.S_ISLNK(os.fstat(handle).st_mode):
        # A name-only handle can be opened on a link too.
        os.close(handle)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return handle


@contextmanager
def folder_below(root: Path, inner: PurePosixPath) -> Iterator[int]:
    """Open a folder below another one until the context ends; creates it if it is missing. Raises `OSError`."""
    folder = os.open(root, FOLDER | os.O_CLOEXEC)
    try:
        for name in inner.parts:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
            folder = _further(folder, name)
        yield folder
    finally:
        os.close(folder)
