"""`Files`: a tool call's access to files, checked at every touch; `Place`, the real location of a path."""

from __future__ import annotations

import difflib
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath

from bridle.core.permission import EDIT_PROTECTED, Access
from bridle.core.protected import protection
from bridle.errors import ToolFailed
from bridle.workspace.git_place import obeyed_around
from bridle.workspace.open_beneath import NAME_ONLY, folder_below, open_below

BLOCK = 65_536
LONGEST = 4_000
NEVER = ("/proc", "/sys")
OWN_FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
"""Variables that name the folders above those of Bridle's own."""
LINKED_FOLDERS = frozenset({"node_modules", ".pnpm", "site-packages", ".venv", "venv", ".git", "target", ".yarn"})
"""Folders in which package managers and git create hard links."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads, all links followed: inside the project, or elsewhere on the machine."""

    root: Path
    """The project, or `/` for paths outside it."""
    inner: PurePosixPath
    project: Path

    @property
    def path(self) -> Path:
        return self.root / self.inner

    @property
    def inside(self) -> bool:
        return self.root == self.project

    @property
    def shown(self) -> str:
        """Return the path as people and rules read it: relative inside the project."""
        return str(self.inner) if self.inside else str(self.path)


def located(project: Path, given: str) -> Place:
    """Return the place that a model means; raises `ToolFailed` if it is not a path."""
    try:
        root = project.resolve()
        path = (root / Path(given).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolFailed(f"{given[:200]!r} is not a path: {error}") from error
    if len(os.fsencode(path)) > LONGEST:
        # By handle even this could be created, and then no program could remove it.
        raise ToolFailed(f"{given[:200]!r} … is longer than a path can be.")
    if path.is_relative_to(root) and not _is_private(path, root):
        return Place(root, PurePosixPath(path.relative_to(root)), root)
    return Place(Path("/"), PurePosixPath(path.relative_to("/")), root)


def found_at(target: Place, inner: PurePosixPath) -> Place:
    """Return the place that a search from a target has found, by its path from the same root."""
    path = target.root / inner
    if target.inside and _is_private(path, target.project):
        return Place(Path("/"), PurePosixPath(path.relative_to("/")), target.project)
    return Place(target.root, inner, target.project)


def _is_private(path: Path, project: Path) -> bool:
    """Return whether a path is hidden in the home: keys and configuration are not part of a project around them.

    Bridle's own folders are not part of it either, wherever they are.
    """
    own = (Path(os.environ[name], "bridle") for name in OWN_FOLDERS if os.environ.get(name))
    if any(path.is_relative_to(folder.resolve()) for folder in own):
        return True
    home = Path("~").expanduser().resolve()
    if not home.is_relative_to(project) or not path.is_relative_to(home):
        return False
    return path != home and path.relative_to(home).parts[0].startswith(".")


def accesses(permission: str, place: Place) -> tuple[Access, ...]:
    """Return the permissions that are needed to touch a place."""
    needed: tuple[Access, ...] = (Access(permission, place.shown),)
    if permission == "edit" and protection(place.inner.parts) == "ask":
        needed += (Access(EDIT_PROTECTED, place.shown),)
    if not place.inside:
        needed += (Access("external_directory", beyond(place)),)
    elif permission != "edit" and _has_other_names(place):
        # Another of its names may lie outside. Writing replaces the file, so this matters only for reads.
        needed += (Access("external_directory", str(place.path)),)
    return needed


def beyond(place: Place) -> str:
    """Return the permission pattern for a place outside the project: its folder, or the place if it is one."""
    return str((place.path if is_folder(place) else place.path.parent) / "*")


def is_folder(place: Place) -> bool:
    """Return whether a place is a folder; False if it cannot be inspected, or if no file can have this name."""
    return os.path.isdir(place.path)


def _has_other_names(place: Place) -> bool:
    with suppress(OSError):
        return _shared(place.path.lstat(), place)
    return False


def _shared(found: os.stat_result, place: Place) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1 and not LINKED_FOLDERS.intersection(place.inner.parts)


def digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Files:
    """A tool call's access to files. Each place is judged again when it is touched, so that no swap gets through."""

    project: Path
    permits: Callable[[Access], bool] | None = None
    """Returns whether an access was granted to this call; None disables the check."""
    guarded: tuple[Path, ...] = ()
    """Folders of Bridle's own, to which file tools do not write."""

    def place(self, permission: str, given: str) -> Place:
        """Return the place that is meant; raises `ToolFailed` if this call may not touch it."""
        place = located(self.project, given)
        self.check(permission, place)
        return place

    def check(self, permission: str, place: Place) -> None:
        """Raise `ToolFailed` if this call may not touch the place."""
        if any(place.path.is_relative_to(top) for top in NEVER):
            raise ToolFailed(f"{place.shown} belongs to the kernel; file tools do not go there.")
        if self.permits is not None:
            for access in accesses(permission, place):
                if not self.permits(access):
                    raise ToolFailed(f"{place.shown} was not allowed: {access.permission} {access.pattern}.")
        if permission == "edit":
            self._refuse_protected(place)

    def _refuse_protected(self, place: Place) -> None:
        if any(place.path.is_relative_to(folder) for folder in self.guarded):
            raise ToolFailed(f"{place.shown} is protected: Bridle or git runs or obeys it.")
        if protection(place.inner.parts) == "deny":
            raise ToolFailed(f"{place.shown} is protected: file tools never write there.")
        if place.inside:
            git = shutil.which("git", path=os.defpath)
            named = obeyed_around(place.path, place.project, git)
            if any(place.path.is_relative_to(path) for path in named):
                raise ToolFailed(f"{place.shown} is protected: git runs or obeys it.")
        if _is_repository(place.path.parent) or _is_repository(place.path.parent.parent):
            raise ToolFailed(f"{place.shown} is protected: it lies in a git repository's own folder.")

    @contextmanager
    def opened(self, place: Place) -> Iterator[int]:
        """Open a regular file and yield its handle; raises `ToolFailed` for anything else."""
        with self._explained(place), open_below(place.root, place.inner, os.O_RDONLY) as handle:
            found = os.fstat(handle)
            if stat.S_ISDIR(found.st_mode):
                raise ToolFailed(f"{place.shown} is a folder.")
            if not stat.S_ISREG(found.st_mode):
                raise ToolFailed(f"{place.shown} is not a regular file.")
            shared = Access("external_directory", str(place.path))
            if place.inside and _shared(found, place) and self.permits is not None and not self.permits(shared):
                raise ToolFailed(f"{place.shown} is a hard link and may be a file from outside.")
            yield handle

    def mode(self, place: Place) -> int:
        """Return the mode of a regular file; raises `ToolFailed` if it is read-only."""
        with self.opened(place) as handle:
            mode = os.fstat(handle).st_mode
        if not mode & 0o222:
            raise ToolFailed(f"{place.shown} is read-only.")
        return stat.S_IMODE(mode)

    def read(self, place: Place, most: int) -> bytes:
        """Return the content of a file; raises `ToolFailed` if it has more than `most` bytes."""
        with self.opened(place) as handle:
            content = bytearray()
            while block := os.read(handle, BLOCK):
                content += block
                if len(content) > most:
                    raise ToolFailed(f"{place.shown} is larger than {most} bytes.")
        return bytes(content)

    def entries(self, place: Place, most: int) -> list[str] | None:
        """Return at most `most` names in a folder, folders with a slash; None if it is not a folder."""
        with self._explained(place), suppress(NotADirectoryError):
            return sorted(_names(place.root, place.inner, most))
        return None

    def reaches(self, place: Place) -> bool:
        """Return whether this exact place exists, with no link on the way."""
        with suppress(ToolFailed):
            return self.is_there(place)
        return False

    def is_there(self, place: Place) -> bool:
        with self._explained(place), suppress(FileNotFoundError), open_below(place.root, place.inner, NAME_ONLY):
            return True
        return False

    def write(self, place: Place, content: bytes, mode: int | None = None) -> None:
        """Write a whole file or leave everything as it was. Creates its folders and keeps its mode."""
        self._refuse_protected(place)
        if not place.inner.name:
            raise ToolFailed(f"{place.shown} is a folder.")
        fresh = f".bridle-{os.urandom(8).hex()}"
        with self._explained(place), folder_below(place.root, place.inner.parent) as folder:
            try:
                before = _before(folder, place)
                kept = _put(folder, fresh, content, before, mode)
                if kept or before is None or before.st_nlink > 1:
                    os.rename(fresh, place.inner.name, src_dir_fd=folder, dst_dir_fd=folder)
                else:
                    # The new file would change the owner, so the old one is overwritten in place.
                    _overwrite(folder, place.inner.name, content)
                    os.unlink(fresh, dir_fd=folder)
            except OSError:
                with suppress(FileNotFoundError):
                    os.unlink(fresh, dir_fd=folder)
                raise

    def delete(self, place: Place) -> None:
        """Remove a regular file."""
        self._refuse_protected(place)
        with self._explained(place), open_below(place.root, place.inner.parent, NAME_ONLY) as folder:
            # A missing file is left to `unlink`, which reports it.
            _before(folder, place)
            os.unlink(place.inner.name, dir_fd=folder)

    @contextmanager
    def _explained(self, place: Place) -> Iterator[None]:
        """Turn an `OSError` about a place into `ToolFailed`."""
        try:
            yield
        except OSError as error:
            raise self._why(place, error) from error

    def _why(self, place: Place, error: OSError) -> ToolFailed:
        match error.errno:
            case errno.ENOENT:
                return self._missing(place)
            case errno.ELOOP | errno.EXDEV:
                return ToolFailed(f"{place.shown} leads elsewhere than it did when it was judged; try again.")
            case errno.ENXIO | errno.ENODEV:
                return ToolFailed(f"{place.shown} is not a regular file.")
        return ToolFailed(f"{place.shown}: {error.strerror or error}.")

    def _missing(self, place: Place) -> ToolFailed:
        """Return the error for a missing file, with similar names."""
        names: list[str] = []
        with suppress(OSError):
            names = _names(place.root, place.inner.parent, 10_000)
        near = difflib.get_close_matches(place.inner.name, [name.rstrip("/") for name in names], 3)
        meant = ", ".join(replace(place, inner=place.inner.parent / name).shown for name in near)
        return ToolFailed(f"{place.shown} does not exist." + (f" Did you mean {meant}?" if meant else ""))


def _before(folder: int, place: Place) -> os.stat_result | None:
    try:
        found = os.stat(place.inner.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise ToolFailed(f"{place.shown} is not a regular file.")
    if not found.st_mode & 0o222:
        raise ToolFailed(f"{place.shown} is read-only.")
    return found


def _overwrite(folder: int, name: str, content: bytes) -> None:
    handle = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
    with os.fdopen(handle, "wb") as file:
        file.truncate(0)
        file.write(content)


def _put(folder: int, name: str, content: bytes, before: os.stat_result | None, mode: int | None) -> bool:
    """Write a new file; return False if it could not be given to the owner of the previous one."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(name, flags, 0o666, dir_fd=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        if before is None:
            if mode is not None:
                os.fchmod(handle, mode & 0o777)
            return True
        try:
            os.fchown(handle, before.st_uid, before.st_gid)
        except PermissionError:
            os.fchmod(handle, _mode_for_another_group(before.st_mode))
            return os.fstat(handle).st_uid == before.st_uid
        os.fchmod(handle, stat.S_IMODE(before.st_mode) & 0o777)
        return True


def _mode_for_another_group(mode: int) -> int:
    """Return the mode for a file whose group could not be kept: the new group gets no more rights than others had."""
    return mode & 0o707 | (mode & 0o007) << 3 & mode & 0o070


def _names(root: Path, inner: PurePosixPath, most: int) -> list[str]:
    """Return at most `most` names in a folder below a root, folders with a slash; raises `OSError`."""
    with open_below(root, inner, os.O_RDONLY | os.O_DIRECTORY) as folder, os.scandir(folder) as entries:
        return [
            f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name for entry in islice(entries, most)
        ]


def _is_repository(folder: Path) -> bool:
    """Return whether git takes a folder for a repository, under any name."""
    return sum(os.path.exists(folder / name) for name in ("HEAD", "objects", "refs")) > 1
