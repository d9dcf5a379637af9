"""Writes the file of an export, report or scenario atomically, readable only by the user and never through a link."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bridle.errors import ConfigError
from bridle.surfaces.cli.output import say


def write_file(path: Path, content: bytes) -> None:
    """Write a file as `put_file` does, and say so."""
    put_file(path, content)
    say(f"written: {path}")


def put_file(path: Path, content: bytes) -> None:
    """Write a file that only this user can read. Raises `ConfigError`, also if the path is a link.

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


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
