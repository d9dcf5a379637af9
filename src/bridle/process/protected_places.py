"""`Survey`: finds and copies a project's protected files, which programs run or obey later; restores none.

The supervisor loads this module without Bridle's other packages and with few imports, since it starts with every
command.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from types import SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping, Sequence

GIT_FILES = ("config", "config.worktree", "commondir", "gitdir", "info/attributes", "hooks", "remotes", "branches")
"""Files in a git folder that make git run or obey something."""
WORKTREE_FILES = ("gitdir", "commondir", "config.worktree")
REPOSITORIES = (frozenset({"HEAD", "objects", "refs"}), frozenset({"HEAD", "commondir"}))
"""A folder that contains these names is a repository to git, under any name."""
MOST_ENTRIES = 400_000
MOST_PROTECTED = 5_000
MOST_BYTES = 64 << 20
MOST_DEPTH = 200
MOST_PATH = 3_000
"""Characters in a path; the kernel accepts at most 4,096."""
GIT_SECONDS = 5.0


class PlaceWatch(SimpleNamespace):
    """The protected paths around one command. All values are plain, so that `marshal` can send them to the supervisor.

    It is no dataclass, since importing those takes longer than most commands.
    """

    root: str
    names: frozenset[str]
    """Names that are protected at any depth, in lower case. `.git` is always inspected."""
    dependencies: frozenset[str] = frozenset()
    """Names of folders that are skipped where git ignores them."""
    git: tuple[str, ...] = ()
    """The git folders of the project, which may lie outside it."""
    more: tuple[str, ...] = ()
    """Further protected paths, like those that git's configuration names."""
    allowed: tuple[str, ...] = ()
    """Paths that the command may change."""
    restore: bool = True
    """Restore differences; otherwise only report them."""
    kept: str = ""
    """Path prefix for stored copies of replaced versions; empty if none are stored."""
    ask_git: tuple[str, ...] = ()
    """Command that prints which paths from its standard input git ignores; empty where there is no git."""
    environment: Mapping[str, str]
    """The environment of that command."""


class PlaceEntry:
    """A copy of the entry at a protected path. `content` is None if it was too large, or not a file."""

    __slots__ = ("content", "kind", "mark", "mode", "owner")

    def __init__(self, kind: str, mode: int = 0, content: bytes | None = b"", mark: tuple[int, ...] = ()) -> None:
        self.kind = kind
        self.mode = mode
        self.content = content
        self.owner = ""
        """The folder with which the entry may be removed: a git folder, or the one that holds the protected name."""
        self.mark = mark
        """Size, inode and change time, which reveal a change if the content was not copied."""

    def same(self, other: PlaceEntry | None) -> bool:
        if other is None or (self.kind, self.mode & 0o111) != (other.kind, other.mode & 0o111):
            return False
        return self.mark == other.mark if self.content is None else self.content == other.content


class PlaceDifference:
    """A protected path that a command has changed, and the action taken."""

    def __init__(self, path: str, did: str, why: str = "", kept: str = "") -> None:
        self.path = path
        self.did = did
        """`restored`, `removed`, `set aside`, `changed` if nothing was done, `closed`, `incomplete` or `unknown`."""
        self.why = why
        self.kept = kept
        """Where the command's version is stored."""


class Survey:
    """The protected entries of a project at one time, by absolute path."""

    def __init__(
        self,
        watch: PlaceWatch,
        masks: re.Pattern[str] | None = None,
        opens: Callable[[str], bool] | None = None,
    ) -> None:
        """`masks` match the other files to collect, by path; `opens` may make an unreadable folder readable."""
        self.found: dict[str, PlaceEntry] = {}
        self.repositories: set[str] = set()
        """Git folders below the root that are not the project's own."""
        self.complete = True
        """Whether everything was inspected; a project may be too large for that."""
        self.closed: set[str] = set()
        """The user's own folders that could not be read, or lie too deep."""
        self.masked: list[str] = []
        """Unprotected files that the masks match."""
        self.watch = watch
        self._masks = masks
        self._opens = opens
        self._entries = 0
        self._bytes = 0
        self._walk()
        for folder in watch.git:
            self._git(folder)
        for path in watch.more:
            self._put(path, os.path.dirname(path))

    def _walk(self) -> None:
        """Visit every folder, those near the root first, so that a deep tree does not hide other files."""
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
            # It is gone, or no longer a folder.
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
        elif self._masks is not None and self._masks.fullmatch(entry.path[len(self.watch.root) + 1 :]):
            self.masked.append(entry.path)

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
            # A large folder must not prevent the others from being found.
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
    """Return the content of a regular file; None if it has more than `most` bytes or cannot be read."""
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
    """Yield the git folders of submodules. Names may contain slashes, and submodules may be nested."""
    waiting = [(path, 0) for path in folders(f"{folder}/modules")]
    while waiting:
        path, depth = waiting.pop()
        if any(os.path.lexists(f"{path}/{name}") for name in ("HEAD", "config", "hooks")):
            yield path
            waiting += [(inner, depth + 1) for inner in folders(f"{path}/modules")]
        elif depth < MOST_DEPTH:
            waiting += [(inner, depth + 1) for inner in folders(path)]


def listed(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder; raises `OSError` if it cannot be read."""
    with os.scandir(folder) as found:
        return list(found)


def entries(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder; none if it cannot be read."""
    with suppress(OSError):
        return listed(folder)
    return []


def _is_own(folder: str) -> bool:
    with suppress(OSError):
        return os.lstat(folder).st_uid == os.geteuid()
    return False


def folders(folder: str) -> list[str]:
    """Return the folders in a folder; none if it is a link."""
    if os.path.islink(folder):
        return []
    return [entry.path for entry in entries(folder) if entry.is_dir(follow_symlinks=False)]


def _ignored(watch: PlaceWatch, paths: Sequence[str]) -> set[str]:
    """Return the dependency folders to skip: those that git ignores, or all of them where there is no git."""
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
