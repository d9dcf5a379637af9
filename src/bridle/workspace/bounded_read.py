"""Reads files with a size limit, and only regular files."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

SETTINGS_BYTES = 1_000_000
"""Limit for settings, definitions and schemas, which people write by hand."""
STREAM = ("-", "/dev/stdin")


def read_bounded(path: Path, most: int) -> bytes:
    """Return the content of a file. Raises `OSError` for a device, a pipe, a folder, or more bytes than `most`."""
    with _opened(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise _too_large(most)
        # It may grow in the meantime, and some kernel files report no size.
        return _within(file.read(most + 1), most)


def read_head(path: Path, most: int) -> bytes:
    """Return the first bytes of a file, at most `most`. Raises `OSError` for a device, a pipe or a folder."""
    with _opened(path) as file:
        return file.read(most)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    # A pipe without a writer must not block this; O_NONBLOCK does not affect regular files.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is no regular file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(handle)


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
        raise _too_large(most)
    return content


def _too_large(most: int) -> OSError:
    return OSError(f"it is larger than {most:,} bytes")
