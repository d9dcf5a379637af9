"""`Trust`: stores which projects the user trusts, with a digest of their files; `project_root` finds a project."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from bridle.config.import_settings import CLAUDE_SERVERS, DEFINITIONS, OPENCODE
from bridle.config.markdown import definitions_in
from bridle.errors import ConfigError
from bridle.workspace.bounded_read import read_bounded
from bridle.workspace.instructions import NAME as AGENTS_MD
from bridle.workspace.json_store import JsonStore

FILES = ("bridle.toml", CLAUDE_SERVERS, *OPENCODE)
FOLDERS = (".bridle", *(f"{own}/{name}" for own in (".claude", ".opencode") for name in DEFINITIONS[own]))
TOOLS = ".bridle/tools"
MOST_BYTES = 50_000_000
DECLINED = "no:"
TrustState = Literal["trusted", "changed", "declined", "unknown"]


class Trust:
    """The user's trust decisions. Methods raise `ConfigError` if files cannot be used."""

    def __init__(self, path: Path) -> None:
        self._kept = JsonStore(path, dict[str, str])

    def state(self, project: Path) -> TrustState:
        """Return the user's decision on a project in its present state."""
        known = self._kept.read().get(str(project.resolve()))
        if known is None:
            return "unknown"
        declined, pinned = known.startswith(DECLINED), known.removeprefix(DECLINED)
        if pinned != fingerprint(project):
            return "unknown" if declined else "changed"
        return "declined" if declined else "trusted"

    def give(self, project: Path) -> None:
        """Trust a project in its present state."""
        self._pin(project, "")

    def decline(self, project: Path) -> None:
        """Record that the user declined; do not ask again until the project changes."""
        self._pin(project, DECLINED)

    def _pin(self, project: Path, decision: str) -> None:
        pinned = decision + fingerprint(project)
        self._kept.change(str(project.resolve()), lambda _: pinned)

    def take(self, project: Path) -> bool:
        """Remove the decision on a project; return False if there was none."""
        return self._kept.remove(str(project.resolve()))


def project_folders(directory: Path) -> list[Path]:
    """Return a folder and the parents whose files apply to it: up to the git root, if there is one.

    Without git, only parents owned by this user count: files of other users are ignored.
    """
    above = list(directory.parents)
    for place, folder in enumerate((directory, *above)):
        if (folder / ".git").exists() and (folder == directory or _owner(folder) in (os.getuid(), _owner(directory))):
            return [directory, *above[:place]]
    return [directory, *(folder for folder in above if _owner(folder) == os.getuid())]


def _owner(folder: Path) -> int:
    """Return the user id of a folder's owner; -1 if all users may write to it, as in /tmp."""
    try:
        there = folder.stat()
    except OSError:
        return -1
    return -1 if there.st_mode & stat.S_ISVTX and there.st_mode & stat.S_IWOTH else there.st_uid


def project_root(directory: Path) -> Path:
    """Return the folder to which trust applies: the nearest one with files for Bridle."""
    for folder in project_folders(directory):
        if any((folder / name).exists() for name in (*FILES, *FOLDERS)):
            return folder
    return directory


def fingerprint(project: Path) -> str:
    """Return a digest of names and contents of all files for Bridle in a folder and its parents."""
    found = hashlib.blake2b(digest_size=32)
    size = 0
    for path in (path for folder in project_folders(project) for path in _brought(folder)):
        try:
            content = read_bounded(path, MOST_BYTES) if path.name != AGENTS_MD else definitions_in(path)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error}") from error
        if path.name == AGENTS_MD and not content:
            continue
        size += len(content)
        if size > MOST_BYTES:
            raise ConfigError(f"{project}: its files for Bridle are larger than {MOST_BYTES} bytes")
        name = os.path.relpath(path, project).encode("utf-8", errors="surrogateescape")
        found.update(b"%d %s %d " % (len(name), name, len(content)))
        found.update(content)
    return found.hexdigest()


def _brought(project: Path) -> Iterator[Path]:
    for name in (*FILES, AGENTS_MD):
        if (project / name).is_file():
            yield project / name
    for name in FOLDERS:
        # Links are followed, because the readers of these folders follow them.
        seen: set[str] = set()
        for folder, below, files in os.walk(project / name, followlinks=True):
            real = os.path.realpath(folder)
            if real in seen:
                below.clear()
                continue
            seen.add(real)
            below.sort()
            yield from (path for path in (Path(folder) / file for file in sorted(files)) if path.is_file())
