"""`Repository`: Bridle's own git repository with the snapshots of a project, which it takes, compares and diffs."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from bridle.core.context import sound
from bridle.core.parts import Changed
from bridle.errors import SnapshotFailed
from bridle.snapshots.git import Git
from bridle.workspace.bounded_read import head_or_nothing
from bridle.workspace.git_place import git_folders

AT_ONCE = 400
"""Maximum number of paths on one git command line."""
MOST_RULES = 1 << 20
MOST_INDEX = 512 << 20
SECOND = 10**9


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on snapshots: file size, quota and age."""

    file_bytes: int = 2 << 20
    quota_bytes: int = 1 << 30
    keep_days: int = 30


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot, and the files that it leaves out.

    `large` are files above the size limit, with size and mtime. `nested` are nested repositories. `unread` are files
    without read permission.
    """

    tree: str
    large: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    nested: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    at_ns: int = 0
    """The time before the files were read."""


@dataclass(frozen=True, slots=True)
class Held:
    """The content of a tree at a path; mode 0 means nothing."""

    mode: str = "000000"
    blob: str = ""

    @classmethod
    def of(cls, mode: str, blob: str) -> Held:
        """Return the entry that git prints; its number is all zeros where there is nothing."""
        return cls(mode, blob) if blob.strip("0") else cls()


@dataclass(frozen=True, slots=True)
class Move:
    """A path that differs between two trees, with the number of added and removed lines."""

    path: str
    before: Held
    after: Held
    added: int = 0
    removed: int = 0


@dataclass(slots=True)
class Known:
    """Facts about a work tree cached in this process, to avoid git commands."""

    general: Path | None = None
    """The user's global ignore file."""
    ignored: tuple[int, list[str]] = (-1, [])
    """Files tracked although ignored, with the mtime of the user's index."""
    tree: tuple[int, str] = (-1, "")
    """The last tree taken, with the mtime of our index."""


@dataclass(slots=True)
class Repository:
    """The snapshots of one work tree, restricted to one project in it. Runs in the thread of its `Git`."""

    git: Git
    project: Path
    environment: Mapping[str, str]
    bounds: Bounds = Bounds()
    known: Known = field(default_factory=Known)

    @property
    def _scope(self) -> list[str]:
        inner = self.project.relative_to(self.git.tree)
        return ["--", str(inner)] if inner.parts else []

    def shown(self, path: str) -> str:
        """Return a path for display: relative to the project, and encodable as text."""
        inner = self.project.relative_to(self.git.tree)
        return sound(os.path.relpath(path, inner) if inner.parts else path)

    def changed(self, move: Move) -> Changed:
        """Return the entry of a patch for a changed path."""
        how: Literal["added", "changed", "deleted"] = "changed" if move.after.blob else "deleted"
        how = how if move.before.blob else "added"
        return Changed(self.shown(move.path), how, move.added, move.removed)

    def take(self) -> Taken:
        """Take a snapshot of the files that git would track, except large ones. Raises `SnapshotFailed`."""
        with self.git.alone():
            at_ns = self.git.moment_ns()
            self._ignore()
            listed = self.git.run("ls-files", "-z", "--others", "--modified", "--exclude-standard", *self._scope)
            names = dict.fromkeys([*_split(listed), *self._tracked_though_ignored()])
            nested = tuple(name for name in names if name.endswith("/"))
            fresh, gone, large, unread = self._sorted(name for name in names if not name.endswith("/"))
            if gone:
                self.git.run("update-index", "-z", "--force-remove", "--stdin", given=_joined(gone))
            if fresh:
                self.git.run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", given=_joined(fresh))
            return Taken(self._tree(), large, nested, tuple(unread), at_ns)

    def ignored(self) -> list[str]:
        """Return ignored paths; for a folder that is ignored as a whole, only the folder."""
        words = ("ls-files", "-z", "--others", "--ignored", "--directory", "--exclude-standard", *self._scope)
        return _split(self.git.run(*words))

    def inodes(self, index: Path) -> dict[tuple[int, int], int]:
        """Return the ctime in nanoseconds of each file in an index, by device and inode number."""
        printed = self.git.run("ls-files", "-z", "--debug", *self._scope, index=index) if index.exists() else b""
        found: dict[tuple[int, int], int] = {}
        # Each name is followed by five lines of facts.
        for piece in printed.split(b"\0")[1:]:
            changed, _, numbers = piece.split(b"\n")[:3]
            seconds, rest = changed.rpartition(b": ")[2].split(b":")
            device, inode = (int(number.rpartition(b": ")[2]) for number in numbers.split(b"\t"))
            found[device, inode] = int(seconds) * SECOND + (int(rest) or SECOND - 1)
        return found

    def _tree(self) -> str:
        index = self.git.folder / "index"
        if _changed_at(index) != self.known.tree[0] or not self.known.tree[1]:
            tree = self.git.run("write-tree").decode().strip()
            # Writing a tree also changes the index, because git caches the trees of folders there.
            self.known.tree = (_changed_at(index), tree)
        return self.known.tree[1]

    def _sorted(self, names: Iterable[str]) -> tuple[list[str], list[str], dict[str, tuple[int, int]], list[str]]:
        """Sort paths into those to take, missing, large and unreadable. Raises `SnapshotFailed` above the quota."""
        fresh: list[str] = []
        gone: list[str] = []
        unread: list[str] = []
        large: dict[str, tuple[int, int]] = {}
        size = 0
        for name in names:
            path = self.git.tree / name
            found = seen_at(path)
            behind_link = any((self.git.tree / folder).is_symlink() for folder in Path(name).parents[:-1])
            if found is None or behind_link or not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
                gone.append(name)
            elif found.st_size > self.bounds.file_bytes:
                large[name] = (found.st_size, found.st_mtime_ns)
            elif is_kept(path, found):
                fresh.append(name)
                size += found.st_size
            else:
                unread.append(name)
        if size > self.bounds.quota_bytes:
            raise SnapshotFailed(
                f"{size >> 20} MB of files have changed, and snapshots.quota_mb is {self.bounds.quota_bytes >> 20}"
            )
        return fresh, gone, large, unread

    def _ignore(self) -> None:
        """Copy the user's ignore rules from outside the work tree, so that they apply here too."""
        if self.known.general is None:
            self.known.general = self._general()
        own = (folder / "info" / "exclude" for folder in git_folders(self.git.tree))
        rules = b"\n".join(
            [*(head_or_nothing(path, MOST_RULES) for path in (self.known.general, *own)), *self._our_data()]
        )
        ours = self.git.folder / "info" / "exclude"
        if head_or_nothing(ours, MOST_RULES) != rules:
            ours.write_bytes(rules)

    def _our_data(self) -> Iterator[bytes]:
        """Yield a rule for the folder of journal and snapshots if it is in the work tree: an undo must not touch it."""
        data = self.git.folder.parent.parent.resolve()
        if data.is_relative_to(self.git.tree):
            inner = os.fsencode(data.relative_to(self.git.tree))
            yield b"/" + re.sub(rb"([\\*?\[ ])", rb"\\\1", inner) + b"/"

    def _general(self) -> Path:
        home = self.environment.get("HOME", "")
        named = ("config", "--global", "--path", "--get", "core.excludesFile")
        asked = self.git.asked(*named, environment=self.environment, folder=Path("/"))
        configured = self.environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
        return Path(os.fsdecode(asked).strip() or f"{configured}/git/ignore")

    def _tracked_though_ignored(self) -> list[str]:
        folders = git_folders(self.git.tree)
        index = _changed_at(folders[0] / "index") if folders else -1
        if index >= 0 and self.known.ignored[0] != index:
            self.known.ignored = (index, self._listed_as_ignored(folders[0]))
        return self.known.ignored[1] if index >= 0 else []

    def _listed_as_ignored(self, folder: Path) -> list[str]:
        """Read a copy of the user's index with our own git folder: in theirs, git would obey their configuration."""
        for shared in self.git.folder.glob("sharedindex.*"):
            shared.unlink()
        copy = self.git.folder / "their-index"
        if not _copied(folder / "index", copy):
            return []
        for shared in folder.glob("sharedindex.*"):
            # A split index refers to shared files, which git looks for in its own folder.
            _copied(shared, self.git.folder / shared.name)
        words = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard", *self._scope)
        try:
            return _split(self.git.run(*words, index=copy))
        except SnapshotFailed:
            # This git cannot read the index, e.g. because of another hash: its ignored files are not kept.
            return []
        finally:
            copy.unlink(missing_ok=True)

    def is_ignored(self) -> bool:
        """Return whether the project is a folder that its work tree ignores."""
        if self.project == self.git.tree:
            return False
        with self.git.alone():
            self._ignore()
            # It fails without output if nothing is ignored.
            asked = ("check-ignore", *self._scope)
            # `check-ignore` does not support literal pathspecs.
            environment = {**self.git.environment, "GIT_LITERAL_PATHSPECS": "0"}
            return bool(self.git.asked(*asked, environment=environment, folder=self.git.tree))

    def moves(self, before: str, after: str) -> list[Move]:
        """Return every path at which two trees differ."""
        if before == after:
            return []
        words = ("diff-tree", "-r", "-z", "--no-renames", "--raw", "--numstat", before, after, *self._scope)
        return _moves(_split(self.git.run(*words)))

    def held(self, tree: str, paths: Sequence[str]) -> dict[str, Held]:
        """Return the content of a tree at each of these paths."""
        found = {path: Held() for path in paths}
        for some in _chunks(paths):
            for line in _split(self.git.run("ls-tree", "-r", "-z", "--full-tree", tree, "--", *some)):
                facts, _, path = line.partition("\t")
                mode, _, blob = facts.split(" ")[:3]
                if path in found:
                    found[path] = Held(mode, blob)
        return found

    def since(self, commits: Sequence[str], objects: Path, shows: Callable[[str], bool], context: int) -> str:
        """Return the diff of the shown files to a commit of the user's repository; of two, to where they part."""
        self.git.environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(objects)
        base = self.git.run("merge-base", *commits).decode().strip() if len(commits) > 1 else commits[0]
        taken = self.take()
        left_out = {*taken.large, *taken.unread}
        moves = self.moves(f"{base}^{{tree}}", taken.tree)
        paths = [each.path for each in moves if each.path not in left_out and shows(self.shown(each.path))]
        return self.diff(f"{base}^{{tree}}", taken.tree, paths, context) if paths else ""

    def diff(self, before: str, after: str, paths: Sequence[str], context: int = 3) -> str:
        """Return the diff of two trees at these paths as text."""
        words = ("diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", "--no-color", f"-U{context}")
        printed = b"".join(self.git.run(*words, before, after, "--", *some) for some in _chunks(paths))
        return printed.decode("utf-8", errors="replace")


def _changed_at(path: Path) -> int:
    found = seen_at(path)
    return -1 if found is None else found.st_mtime_ns


def seen_at(path: Path) -> os.stat_result | None:
    """Return `lstat` of a path; None if it cannot be read."""
    try:
        return path.lstat()
    except OSError:
        return None


def _copied(source: Path, target: Path) -> bool:
    """Copy a regular file of at most `MOST_INDEX` bytes; False for anything else."""
    found = seen_at(source)
    if found is None or not stat.S_ISREG(found.st_mode) or found.st_size > MOST_INDEX:
        return False
    shutil.copyfile(source, target, follow_symlinks=False)
    return True


def is_kept(path: Path, found: os.stat_result) -> bool:
    """Return whether a snapshot can hold this entry: a link, or a file that can be read."""
    return stat.S_ISLNK(found.st_mode) or (stat.S_ISREG(found.st_mode) and os.access(path, os.R_OK))


def _split(printed: bytes) -> list[str]:
    return [os.fsdecode(piece) for piece in printed.split(b"\0") if piece]


def _joined(names: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def _chunks(paths: Sequence[str]) -> Iterable[Sequence[str]]:
    return (paths[start : start + AT_ONCE] for start in range(0, len(paths), AT_ONCE))


def _moves(pieces: list[str]) -> list[Move]:
    """Parse the output of `diff-tree --raw --numstat`."""
    found: dict[str, Move] = {}
    waiting = iter(pieces)
    for piece in waiting:
        if piece.startswith(":"):
            old_mode, new_mode, old, new, _ = piece[1:].split(" ")
            path = next(waiting)
            found[path] = Move(path, Held.of(old_mode, old), Held.of(new_mode, new))
        else:
            added, removed, path = piece.split("\t", 2)
            if added != "-":
                # Git counts no lines in binary files.
                found[path] = replace(found[path], added=int(added), removed=int(removed))
    return list(found.values())
