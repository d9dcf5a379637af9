"""Finds named pipes called `.gitignore` and the like, on which git would block forever."""

from __future__ import annotations

import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from bridle.process.protected_places import entries

READ_BY_GIT = (".gitignore", ".gitattributes", ".gitmodules")
MOST_ENTRIES = 200_000


def pipe_for_git(tree: Path, project: Path) -> str:
    """Return the first of these pipes in a project or its parent folders, relative to the tree; empty if none."""
    found = next(filter(_is_pipe, _read_by_git(tree, project)), None)
    return str(found.relative_to(tree)) if found is not None else ""


def _read_by_git(tree: Path, project: Path) -> Iterator[Path]:
    """Yield the files in a project and its parent folders that git may read."""
    above = (folder for folder in project.parents if folder.is_relative_to(tree))
    yield from (folder / name for folder in above for name in READ_BY_GIT)
    waiting = deque([str(project)])
    seen = 0
    while waiting and seen < MOST_ENTRIES:
        for entry in entries(waiting.popleft()):
            seen += 1
            if entry.name in READ_BY_GIT:
                yield Path(entry.path)
            elif entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def _is_pipe(path: Path) -> bool:
    try:
        # Links are followed, because old versions of git follow them.
        return stat.S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False
