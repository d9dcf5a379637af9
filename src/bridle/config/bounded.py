"""Files of settings, read within a bound: a project may hold files of any size and kind."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from bridle.errors import ConfigError

MOST_BYTES = 5_000_000


def read_bounded(path: Path, most: int = MOST_BYTES) -> bytes:
    """What a regular file holds.

    Raises `OSError`, and `ConfigError` without the path if the file is larger or of another kind.
    """
    # Without waiting: a pipe that nobody writes to must not hang the program.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ConfigError("not a regular file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ConfigError(f"larger than {most} bytes")
    return content
