"""Writes output files atomically: a new file gets its final name when it is complete."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bridle.errors import ConfigError
from bridle.surfaces.cli.output import say


def write_file(path: Path, content: bytes) -> None:
    """Write a file that only this user can read, and say so. Raises `ConfigError`, also if the path is a link.

    A project or a model could have placed the link, and the person has not named its target.
    """
    # Devices like /dev/stdout, shell pipes and /dev/null are written directly; a project cannot create them.
    device = path.parts[:2] == ("/", "dev")
    if not device and path.is_symlink():
        raise ConfigError(f"{path} is a link: name the file itself, or remove the link")
    if not device and path.exists() and not path.is_file():
        raise ConfigError(f"{path} is not a file")
    try:
        if device:
            path.write_bytes(content)
        else:
            _replace(path, content)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}") from error
    say(f"written: {path}")


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
