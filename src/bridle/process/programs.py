"""Where programs of ours may come from: never from a folder that a model can write to."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path


def outside(path: str, *folders: Path) -> str:
    """A search path without places that are relative, or within one of these folders."""
    kept: list[str] = []
    real = [folder.resolve() for folder in folders]
    for entry in path.split(":"):
        if entry.startswith("/") and not any(Path(entry).resolve().is_relative_to(folder) for folder in real):
            kept.append(entry)
    return ":".join(kept)


def named_files(commands: Iterable[str], folder: Path) -> tuple[Path, ...]:
    """The files below a folder that shell commands name, there or not: whoever writes them decides what runs."""
    found: dict[Path, None] = {}
    for command in commands:
        try:
            words = shlex.split(command, comments=False)
        except ValueError:
            words = command.split()
        for word in words:
            path = (folder / word.strip("'\";&|()<>")).absolute()
            if path != folder and path.is_relative_to(folder) and ("/" in word or os.path.exists(path)):
                found[path] = None
    return tuple(found)
