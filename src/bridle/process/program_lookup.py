"""Removes from PATH the folders that a model can write to, for programs that Bridle runs outside the sandbox."""

from __future__ import annotations

from pathlib import Path


def outside(path: str, *folders: Path) -> str:
    """Return a search path without entries that are relative or inside one of these folders."""
    real = [folder.resolve() for folder in folders]
    absolute = (entry for entry in path.split(":") if entry.startswith("/"))
    return ":".join(entry for entry in absolute if not any(map(Path(entry).resolve().is_relative_to, real)))
