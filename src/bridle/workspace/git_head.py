"""`GitHead`: the branch and the commit of a project, read from its git folder without running git."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from bridle.workspace.bounded_read import head_or_nothing
from bridle.workspace.git_place import git_folders

MOST_BYTES = 65_536
MOST_PACKED_BYTES = 16 << 20
COMMIT = re.compile(r"[0-9a-f]{40}")
BRANCH = re.compile(r"ref: refs/(?:heads|remotes/origin)/(\S+)\s*")
USUAL = ("main", "master")
"""Names of default branches, where no remote says which one it is."""


class GitHead(NamedTuple):
    """What a work tree has checked out; a text is empty where there is nothing."""

    branch: str = ""
    commit: str = ""
    default_branch: str = ""
    default_commit: str = ""
    objects: Path | None = None
    """The folder with the repository's objects."""


def git_head(project: Path) -> GitHead:
    """Return what the project's work tree has checked out."""
    folders = git_folders(project)
    if not folders:
        return GitHead()
    branch = _branch(_text(folders[0] / "HEAD"))
    commit = _commit(folders, f"refs/heads/{branch}") if branch else _only_commit(_text(folders[0] / "HEAD"))
    remote = _branch(_text(folders[-1] / "refs" / "remotes" / "origin" / "HEAD"))
    usual = next((name for name in USUAL if _commit(folders, f"refs/heads/{name}")), "")
    default = _commit(folders, f"refs/remotes/origin/{remote}") if remote else _commit(folders, f"refs/heads/{usual}")
    return GitHead(branch, commit, remote or usual, default, folders[-1] / "objects")


def _branch(text: str) -> str:
    found = BRANCH.fullmatch(text)
    return found[1] if found is not None else ""


def _only_commit(text: str) -> str:
    found = text.strip()
    return found if COMMIT.fullmatch(found) else ""


def _commit(folders: tuple[Path, ...], name: str) -> str:
    """Return the commit of a reference: a file of its own, or a line among the packed ones."""
    if ".." in name:
        return ""
    for folder in folders:
        if found := _only_commit(_text(folder / name)):
            return found
    packed = _text(folders[-1] / "packed-refs", MOST_PACKED_BYTES)
    found_line = re.search(rf"^([0-9a-f]{{40}}) {re.escape(name)}$", packed, re.MULTILINE)
    return found_line[1] if found_line is not None else ""


def _text(file: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a small regular file; empty for anything else."""
    if file.is_symlink() or not file.is_file():
        return ""
    return head_or_nothing(file, most).decode("utf-8", errors="replace")
