"""Where programs of ours may come from: never from a folder that a model can write to."""

from __future__ import annotations

from pathlib import Path


def outside(path: str, *folders: Path) -> str:
    """A search path without places that are relative, or within one of these folders."""
    kept: list[str] = []
    real = [folder.resolve() for folder in folders]
    for entry in path.split(":"):
        if entry.startswith("/") and not any(Path(entry).resolve().is_relative_to(folder) for folder in real):
            kept.append(entry)
    return ":".join(kept)
