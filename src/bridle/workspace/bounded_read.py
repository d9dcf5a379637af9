"""Reads regular files, and standard input, up to a size limit; refuses devices and pipes."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

SETTINGS_BYTES = 1_000_000
"""Limit for settings, definitions and schemas, which people write by hand."""
STREAM = ("-", "/dev/stdin")


def read_bounded(path: Path, most: int) -> bytes:
    """Return the content of a file. Raises `OSError` for a device, a pipe, a folder, or more bytes than `most`."""
    return _within(read_head(path, most + 1), most)


def read_head(path: Path, most: int) -> bytes:
    """Return the first bytes of a file, at most `most`. Raises `OSError` for a device, a pipe or a folder."""
    # A pipe without a writer must not block this; O_NONBLOCK does not affect regular files.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is not a regular file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(handle)


def head_or_nothing(path: Path, most: int) -> bytes:
    """Return the first bytes of a file, at most `most`; empty if it is not a regular file or cannot be read."""
    with suppress(OSError):
        return read_head(path, most)
    return b""


def read_text(path: Path, most: int = SETTINGS_BYTES, encoding: str = "utf-8") -> str:
    """Return the text of a file with line ends normalized; raises `OSError` and `UnicodeDecodeError`."""
    text = read_bounded(path, most).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_given(path: Path, most: int) -> bytes:
    """Return the content of a file that a person named; `-` and `/dev/stdin` are standard input. Raises `OSError`."""
    return read_stream(most) if str(path) in STREAM else read_bounded(path, most)


def read_stream(most: int) -> bytes:
    """Return the content of standard input; raises `OSError` if it has more bytes than `most`."""
    return _within(sys.stdin.buffer.read(most + 1) if sys.stdin is not None else b"", most)


def _within(content: bytes, most: int) -> bytes:
    if len(content) > most:
        raise OSError(f"it is larger than {most:,} bytes")
    return content
