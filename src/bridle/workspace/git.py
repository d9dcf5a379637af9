"""Where a project's git keeps its own files, as far as that can be believed."""

from __future__ import annotations

from pathlib import Path

MOST_BYTES = 4_096


def git_folder(project: Path) -> Path | None:
    """The folder of git for the work tree that holds a project; None outside of any."""
    for folder in (project, *project.parents):
        found = folder / ".git"
        if found.is_dir():
            return found
        if found.is_file():
            return _pointed(found)
    return None


def _pointed(file: Path) -> Path | None:
    """The folder that a `.git` file names."""
    try:
        with file.open("rb") as opened:
            text = opened.read(MOST_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return None
    _, found, path = text.partition("gitdir:")
    return (file.parent / path.strip()).resolve() if found else None


def git_folders(project: Path) -> tuple[Path, ...]:
    """The folder of git, and the one that it shares with other work trees."""
    own = git_folder(project)
    if own is None:
        return ()
    try:
        common = (own / (own / "commondir").read_text(encoding="utf-8", errors="replace").strip()).resolve()
    except OSError:
        return (own,)
    return (own, common)
