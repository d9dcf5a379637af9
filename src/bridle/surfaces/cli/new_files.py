"""Files that a command writes where the person says: each is new and takes its name when it is whole."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from bridle.errors import ConfigError


def write_file(path: Path, content: bytes) -> None:
    """Write a file that only this user can read; raises `ConfigError`, also where a link stands.

    A link could have been put there by a project or a model, and its target is no place that the person has named.
    """
    if path.parts[:2] == ("/", "dev"):
        # Standard output, a pipe of the shell, /dev/null: these are written to as they are, and a project has none.
        _into(path, content)
        return
    if path.is_symlink():
        raise ConfigError(f"{path} is a link: name the file itself, or remove the link")
    if path.exists() and not path.is_file():
        raise ConfigError(f"{path} is not a file")
    try:
        handle, new = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(new).replace(path)
    except OSError as error:
        with suppress(OSError):
            Path(new).unlink()
        raise ConfigError(f"{path} cannot be written: {error}") from error


def _into(path: Path, content: bytes) -> None:
    try:
        with path.open("wb") as stream:
            stream.write(content)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}") from error
