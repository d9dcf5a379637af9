"""Writes output files atomically: a new file gets its final name when it is complete."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from bridle.errors import ConfigError


def write_file(path: Path, content: bytes) -> None:
    """Write a file that only this user can read. Raises `ConfigError`, also if the path is a link.

    A project or a model could have placed the link, and the person has not named its target.
    """
    if path.parts[:2] == ("/", "dev"):
        # Devices like /dev/stdout, shell pipes and /dev/null are written directly; a project cannot create them.
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
