"""Protected places on disk: the files in a project that a program runs or obeys later, found and copied.

The supervisor of a command loads this module without Bridle's other packages and with few imports, since it starts
with every command.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

GIT_FILES = ("config", "config.worktree", "commondir", "gitdir", "info/attributes", "hooks", "remotes", "branches")
"""In a git folder: what makes git run or obey something."""
WORKTREE_FILES = ("gitdir", "commondir", "config.worktree")
REPOSITORIES = (frozenset({"HEAD", "objects", "refs"}), frozenset({"HEAD", "commondir"}))
"""A folder with these names is a repository to git, whatever it is called."""
MOST_ENTRIES = 400_000
MOST_PROTECTED = 5_000
MOST_BYTES = 64 << 20
MOST_DEPTH = 200
MOST_PATH = 3_000
"""Letters of a path; the kernel takes no more than 4,096."""
GIT_SECONDS = 5.0


class PlaceWatch:
    """What is protected around one command. It goes to the supervisor as plain values, by `written` and `read`."""

    __slots__ = ("allowed", "ask_git", "dependencies", "environment", "git", "kept", "more", "names", "restore", "root")

    def __init__(
        self,
        root: str,
        *,
        names: Sequence[str],
        dependencies: Sequence[str] = (),
        git: Sequence[str] = (),
        more: Sequence[str] = (),
        allowed: Sequence[str] = (),
        restore: bool = True,
        kept: str = "",
        ask_git: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.root = root
        self.names = frozenset(names)
        """Names that are protected at any depth, in lower case. `.git` is always looked into."""
        self.dependencies = frozenset(dependencies)
        """Names of folders that are not looked into where git ignores them."""
        self.git = tuple(git)
        """The git folders of the project, which may lie outside of it."""
        self.more = tuple(more)
        """Further protected paths: those that git's configuration names."""
        self.allowed = tuple(allowed)
        """Paths that the command may change."""
        self.restore = restore
        """Restore differences; otherwise only report them."""
        self.kept = kept
        """How the paths begin where replaced versions are stored; empty if they are not."""
        self.ask_git = tuple(ask_git)
        """A command that prints which of the paths on its standard input git ignores; empty where there is no git."""
        self.environment = dict(environment or {})

    def written(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {name: tuple(value) if isinstance(value, frozenset) else value for name, value in plain.items()}

    @classmethod
    def read(cls, given: dict[str, Any]) -> PlaceWatch:
        return cls(**given)


class PlaceEntry:
    """What lies at a protected path. A content of None was too large to copy, or is no file."""

    __slots__ = ("content", "kind", "mark", "mode", "owner")

    def __init__(self, kind: str, mode: int = 0, content: bytes | None = b"", mark: tuple[int, ...] = ()) -> None:
        self.kind = kind
        self.mode = mode
        self.content = content
        self.owner = ""
        """The folder with which the entry may go: a git folder, or the one that holds the protected name."""
        self.mark = mark
        """Size, inode and time of change: these tell whether a file has changed whose content was not copied."""

    def same(self, other: PlaceEntry | None) -> bool:
        if other is None or (self.kind, self.mode & 0o111) != (other.kind, other.mode & 0o111):
            return False
        return self.mark == other.mark if self.content is None else self.content == other.content


class PlaceDifference:
    """A protected place that a command has changed, and what was done about it."""

    __slots__ = ("did", "kept", "path", "why")

    def __init__(self, path: str, did: str, why: str = "", kept: str = "") -> None:
        self.path = path
        self.did = did
        """`restored`, `removed`, `set aside`, `changed` if nothing was done, `incomplete` or `unknown`."""
        self.why = why
        self.kept = kept
        """Where the version of the command is stored."""

    def written(self) -> tuple[str, str, str, str]:
        return self.path, self.did, self.why, self.kept


class Survey:
    """The protected entries of a project at one time, by absolute path."""

    def __init__(
        self,
        watch: PlaceWatch,
        seen: Callable[[str], None] | None = None,
        opens: Callable[[str], bool] | None = None,
    ) -> None:
        """`seen` is called with the path of every other file, `opens` may make a folder readable that is not."""
        self.found: dict[str, PlaceEntry] = {}
        self.repositories: set[str] = set()
        """Git folders below the root that are not those of the project."""
        self.complete = True
        """Whether everything was looked at; a project may be too large for that."""
        self.closed: set[str] = set()
        """The user's own folders that could not be looked into, or lie too deep."""
        self.watch = watch
        self._seen = seen
        self._opens = opens
        self._entries = 0
        self._bytes = 0
        self._walk()
        for folder in watch.git:
            self._git(folder)
        for path in watch.more:
            self._put(path, os.path.dirname(path))

    def _walk(self) -> None:
        """Look at every folder, those near the root first: a deep tree must not keep anything else from being seen."""
        waiting, passed, place = [self.watch.root], list[str](), 0
        while place < len(waiting):
            folder, place = waiting[place], place + 1
            names = set()
            for entry in self._listed(folder):
                names.add(entry.name)
                self._meet(entry, waiting, passed)
            self._entries += len(names)
            if self._entries > MOST_ENTRIES:
                self.complete = False
                return
            if any(names >= known for known in REPOSITORIES) and folder not in self.watch.git:
                self._repository(folder)
            if place == len(waiting) and passed:
                ignored = _ignored(self.watch, passed)
                waiting += [path for path in passed if path not in ignored]
                passed = []

    def _listed(self, folder: str) -> list[os.DirEntry[str]]:
        if len(folder) > MOST_PATH or folder.count("/") - self.watch.root.count("/") > MOST_DEPTH:
            self.complete = False
            self.closed.add(folder)
            return []
        try:
            return listed(folder)
        except PermissionError:
            if self._opens is not None and self._opens(folder):
                return entries(folder)
            if _is_own(folder):
                self.closed.add(folder)
        except OSError:
            # It is gone, or no folder any more.
            pass
        return []

    def _meet(self, entry: os.DirEntry[str], waiting: list[str], passed: list[str]) -> None:
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git":
            self._put(entry.path, os.path.dirname(entry.path), inner=False)
            if is_folder and entry.path not in self.watch.git:
                self._repository(entry.path)
        elif entry.name.lower() in self.watch.names:
            self._put(entry.path, os.path.dirname(entry.path))
        elif is_folder:
            (passed if entry.name in self.watch.dependencies else waiting).append(entry.path)
        elif self._seen is not None:
            self._seen(entry.path)

    def _repository(self, folder: str) -> None:
        self.repositories.add(folder)
        self._git(folder)

    def _git(self, folder: str) -> None:
        for owner in (folder, *modules(folder)):
            for name in GIT_FILES:
                self._put(f"{owner}/{name}", owner)
        for owner in folders(f"{folder}/worktrees"):
            for name in WORKTREE_FILES:
                self._put(f"{owner}/{name}", owner)

    def _put(self, path: str, owner: str, *, inner: bool = True) -> None:
        entry = self._entry(path) if path not in self.found else None
        if entry is None:
            return
        entry.owner = owner
        self.found[path] = entry
        if entry.kind == "folder" and inner:
            # However much lies in one, the others are still found.
            children = self._listed(path)
            if len(self.found) + len(children) > MOST_PROTECTED:
                self.complete = False
                return
            for child in children:
                self._put(child.path, owner)

    def _entry(self, path: str) -> PlaceEntry | None:
        try:
            found = os.lstat(path)
        except OSError:
            return None
        if stat.S_ISDIR(found.st_mode):
            return PlaceEntry("folder")
        if stat.S_ISLNK(found.st_mode):
            return PlaceEntry("link", content=os.fsencode(os.readlink(path)))
        mode, mark = stat.S_IMODE(found.st_mode), (found.st_size, found.st_ino, found.st_ctime_ns)
        if not stat.S_ISREG(found.st_mode):
            return PlaceEntry("special", mode, None, mark)
        content = read_file(path, MOST_BYTES - self._bytes)
        self._bytes += len(content or b"")
        return PlaceEntry("file", mode, content, mark)


def read_file(path: str, most: int) -> bytes | None:
    """Return the content of a regular file; None if it has more bytes than that or cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            return None
        content = b""
        while len(content) <= most and (block := os.read(handle, 1 << 20)):
            content += block
        return content if len(content) <= most else None
    finally:
        os.close(handle)


def modules(folder: str) -> Iterator[str]:
    """The git folders of submodules. Their names may hold slashes, and they may have submodules of their own."""
    waiting = [(path, 0) for path in folders(f"{folder}/modules")]
    while waiting:
        path, depth = waiting.pop()
        if any(os.path.lexists(f"{path}/{name}") for name in ("HEAD", "config", "hooks")):
            yield path
            waiting += [(inner, depth + 1) for inner in folders(f"{path}/modules")]
        elif depth < MOST_DEPTH:
            waiting += [(inner, depth + 1) for inner in folders(path)]


def listed(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder; raises `OSError` if it may not be looked into."""
    with os.scandir(folder) as found:
        return list(found)


def entries(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder, as far as it may be looked into."""
    with suppress(OSError):
        return listed(folder)
    return []


def _is_own(folder: str) -> bool:
    try:
        return os.lstat(folder).st_uid == os.geteuid()
    except OSError:
        return False


def folders(folder: str) -> list[str]:
    """The folders in a folder; none if that is a link."""
    if os.path.islink(folder):
        return []
    return [entry.path for entry in entries(folder) if entry.is_dir(follow_symlinks=False)]


def _ignored(watch: PlaceWatch, paths: Sequence[str]) -> set[str]:
    """The dependency folders that are not looked into: those that git ignores, or all of them where there is no git."""
    if not watch.ask_git:
        return set(paths)
    import subprocess

    try:
        done = subprocess.run(
            watch.ask_git,
            input=b"".join(os.fsencode(path) + b"\0" for path in paths),
            capture_output=True,
            cwd=watch.root,
            env=watch.environment,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return set()
    return {os.fsdecode(path) for path in done.stdout.split(b"\0") if path}
