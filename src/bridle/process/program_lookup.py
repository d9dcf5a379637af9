"""Search paths for the programs that Bridle runs: never a folder that a model can write to."""

from __future__ import annotations

from pathlib import Path


def outside(path: str, *folders: Path) -> str:
    """Return a search path without entries that are relative or inside one of these folders."""
    kept: list[str] = []
    real = [folder.resolve() for folder in folders]
    for entry in path.split(":"):
        if entry.startswith("/") and not any(Path(entry).resolve().is_relative_to(folder) for folder in real):
            kept.append(entry)
    return ":".join(kept)
