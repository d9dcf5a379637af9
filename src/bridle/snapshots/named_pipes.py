"""Detection of named pipes called `.gitignore` and the like, on which git would block forever."""

from __future__ import annotations

import stat
from collections import deque
from pathlib import Path

from bridle.process.protected_places import entries

READ_BY_GIT = (".gitignore", ".gitattributes", ".gitmodules")
MOST_ENTRIES = 200_000


def pipe_for_git(tree: Path, project: Path) -> str:
    """Return the first of these pipes in a project or its parent folders, relative to the tree; empty if none."""
    above = (folder for folder in project.parents if folder.is_relative_to(tree))
    for path in (folder / name for folder in above for name in READ_BY_GIT):
        if _is_pipe(path):
            return str(path.relative_to(tree))
    waiting = deque([str(project)])
    seen = 0
    while waiting and seen < MOST_ENTRIES:
        for entry in entries(waiting.popleft()):
            seen += 1
            if entry.name in READ_BY_GIT:
                if _is_pipe(Path(entry.path)):
                    return str(Path(entry.path).relative_to(tree))
            elif entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
    return ""


def _is_pipe(path: Path) -> bool:
    try:
        # Links are followed, because old versions of git follow them.
        return stat.S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False
