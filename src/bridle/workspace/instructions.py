"""Finds the AGENTS.md files of given folders, or CLAUDE.md files if no folder has one; reads them up to a size."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bridle.workspace.bounded_read import read_head

NAME, OTHER_NAME = "AGENTS.md", "CLAUDE.md"
MOST_BYTES = 100_000


def instruction_files(folders: Iterable[Path]) -> list[Path]:
    """Return the AGENTS.md files of these folders; if there are none at all, the CLAUDE.md files."""
    folders = list(folders)
    for name in (NAME, OTHER_NAME):
        found = [folder / name for folder in folders if (folder / name).is_file()]
        if found:
            return found
    return []


def instructions_of(path: Path, root: Path) -> str:
    """Return the text of a file, cut off if it is too long; empty if it leads out of its root, or is not text."""
    try:
        real = path.resolve()
        if not real.is_relative_to(root.resolve()) or not real.is_file():
            return ""
        if path.name in (NAME, OTHER_NAME) and real.name not in (NAME, OTHER_NAME):
            # The target of the link was not written as instructions, and may be secret.
            return ""
        content = read_head(real, MOST_BYTES + 1)
    except (OSError, RuntimeError):
        return ""
    if b"\0" in content:
        return ""
    text = content[:MOST_BYTES].decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")
    return f"{text}\n[… it goes on]" if len(content) > MOST_BYTES else text


def beneath(project: Path, file: Path) -> list[Path]:
    """Return the folders between a project and a file, without the project's own, the nearest last.

    A file outside the project has none.
    """
    return [folder for folder in reversed(file.parents) if folder != project and folder.is_relative_to(project)]
