"""`Guard`: compares protected files before and after a command and undoes the changes; runs in the supervisor.

It works on files that a hostile command may have left behind. Each path is walked by handle from a folder that was
opened before the command started, and no link is followed. The supervisor runs it, so it happens however a command
ends, even if Bridle dies.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from bridle.process.new_repository import planted
from bridle.process.protected_places import PlaceDifference, PlaceEntry, PlaceWatch, Survey

MOST_REPORTED = 20


class Guard:
    """The protected files before a command. `look` compares them with those after it."""

    def __init__(self, watch: PlaceWatch) -> None:
        self.watch = watch
        self._roots = {root: _handle(root) for root in (watch.root, *watch.git)}
        self._before = Survey(watch)
        self._number = 0
        self._lent: list[tuple[int, int]] = []
        """Folders that were made readable for the comparison, each with its original mode."""

    def _lend(self, folder: str) -> bool:
        """Make a folder readable for the comparison: a command may have removed that right to hide something."""
        with suppress(OSError), self._parent(f"{folder}/.", make=False) as parent:
            self._lent += parent.taken()
            return True
        return False

    def look(self) -> list[PlaceDifference]:
        """Undo the differences; return the path of each and the action taken."""
        try:
            return self._look(Survey(self.watch, opens=self._lend if self.watch.restore else None))
        finally:
            while self._lent:
                set_back(*self._lent.pop())

    def _look(self, after: Survey) -> list[PlaceDifference]:
        told: list[PlaceDifference] = []
        fresh = sorted(self._new_repositories(after))
        for git in fresh:
            told += self._judged(git, after)
        # Files in a new repository were judged with it.
        spared = tuple(f"{git}/" for git in fresh)
        changed = [
            path
            for path in sorted({*self._before.found, *after.found})
            if path not in fresh and not path.startswith(spared) and self._differs(path, after)
        ]
        for path in reversed(changed):
            if path not in self._before.found and not self._harmless(path, after):
                told.append(self._undone(path, None, after.found[path]))
        for path in changed:
            old = self._before.found.get(path)
            if old is not None and os.path.isdir(old.owner):
                told.append(self._undone(path, old, after.found.get(path)))
        told += [PlaceDifference(path, "closed") for path in sorted(after.closed - self._before.closed)]
        if not (after.complete and self._before.complete):
            told.append(PlaceDifference(self.watch.root, "incomplete"))
        return told[:MOST_REPORTED]

    def _differs(self, path: str, after: Survey) -> bool:
        old, new = self._before.found.get(path), after.found.get(path)
        if any(path == allowed or path.startswith(f"{allowed}/") for allowed in self.watch.allowed):
            return False
        if old is None and new is not None and new.kind == "folder":
            # The folder was created for a file that the command may create.
            return not any(allowed.startswith(f"{path}/") for allowed in self.watch.allowed)
        return new is not None if old is None else not old.same(new)

    def _new_repositories(self, after: Survey) -> set[str]:
        """Return the git folders and `.git` files that did not exist before."""
        fresh = after.repositories - self._before.repositories
        return fresh | {path for path in after.found if _is_git(path) and path not in self._before.found}

    def _judged(self, git: str, after: Survey) -> list[PlaceDifference]:
        """Keep a new repository if it is as plain as git makes it; otherwise set it aside."""
        if git in self.watch.allowed:
            return []
        entry = after.found.get(git)
        why = self._misleads(git, entry) if entry is not None and entry.kind != "folder" else planted(git, after)
        if not why:
            return []
        if not self.watch.restore:
            return [PlaceDifference(git, "changed", why)]
        try:
            # Without its HEAD, git no longer recognizes the repository, under any name.
            with self._parent(git, make=False) as parent:
                parent.behead()
                parent.rename(".set-aside")
        except OSError as error:
            return [PlaceDifference(git, "changed", f"{why}: {error}")]
        return [PlaceDifference(git, "set aside", why)]

    def _misleads(self, path: str, entry: PlaceEntry) -> str:
        """Return why a new `.git` file must go; empty if it names a work tree or a submodule of this project."""
        if entry.kind != "file" or not (entry.content or b"").startswith(b"gitdir: "):
            return f"it is a {entry.kind}"
        target = os.fsdecode((entry.content or b"")[8:].rstrip(b"\n"))
        real = os.path.realpath(os.path.join(os.path.dirname(path), target.replace("\0", "")))
        if any(real.startswith(f"{git}/{kind}/") for git in self.watch.git for kind in ("worktrees", "modules")):
            return ""
        return "it names a folder that is not of this project's git"

    def _harmless(self, path: str, after: Survey) -> bool:
        """Return whether a new entry may stay: part of a plain new work tree or submodule."""
        folder, name = os.path.split(path)
        if os.path.basename(os.path.dirname(folder)) == "worktrees" and name in ("commondir", "gitdir"):
            return self._is_plain_worktree(folder, after)
        if path.startswith(tuple(f"{git}/modules/" for git in self.watch.git)):
            owner = after.found[path].owner
            known = any(path.startswith(f"{owner}/") for path in self._before.found)
            return not known and not planted(owner, after)
        if path.startswith(tuple(f"{git}/" for git in self.watch.git)) or not self._in_new_tree(path, after):
            return False
        # A work tree contains the same files again.
        suffix, entry = self._suffix(path), after.found[path]
        return bool(suffix) and any(
            old.same(entry) for known, old in self._before.found.items() if self._suffix(known) == suffix
        )

    def _in_new_tree(self, path: str, after: Survey) -> bool:
        """Return whether a path lies in a work tree or a submodule that the command has made."""
        folder = os.path.dirname(path)
        while folder.startswith(f"{self.watch.root}/"):
            git = after.found.get(f"{folder}/.git")
            if git is not None and f"{folder}/.git" not in self._before.found:
                return git.kind == "file"
            folder = os.path.dirname(folder)
        return False

    def _is_plain_worktree(self, folder: str, after: Survey) -> bool:
        commondir, gitdir = after.found.get(f"{folder}/commondir"), after.found.get(f"{folder}/gitdir")
        if commondir is None or commondir.content != b"../..\n" or gitdir is None or gitdir.kind != "file":
            return False
        place = os.path.normpath(os.path.join(folder, os.fsdecode((gitdir.content or b"").rstrip(b"\n"))))
        return place.startswith(f"{self.watch.root}/") and _is_git(place)

    def _suffix(self, path: str) -> str:
        """Return a path from its protected name on, which is the same in another work tree."""
        parts = path[len(self.watch.root) + 1 :].split("/")
        for place, part in enumerate(parts):
            if part.lower() in self.watch.names:
                return "/".join(parts[place:])
        return ""

    def _undone(self, path: str, old: PlaceEntry | None, new: PlaceEntry | None) -> PlaceDifference:
        if not self.watch.restore or (old is not None and old.content is None):
            return PlaceDifference(path, "changed")
        kept = self._keep(path, new) if new is not None and new.kind == "file" else ""
        try:
            with self._parent(path, make=old is not None) as parent:
                if old is None or old.kind != "folder" or new is None or new.kind != "folder":
                    parent.clear()
                if old is not None:
                    parent.make(old)
        except OSError as error:
            return self._without_link(path) or PlaceDifference(path, "changed", error.strerror or str(error))
        return PlaceDifference(path, "removed" if old is None else "restored", kept=kept)

    def _without_link(self, path: str) -> PlaceDifference | None:
        """Set aside a link that a command has put in place of a folder above a protected path."""
        link = next(filter(os.path.islink, _folders_to(path, self.watch.root)), None)
        if link is not None:
            with suppress(OSError), self._parent(link, make=False) as parent:
                parent.rename(".set-aside")
                return PlaceDifference(link, "set aside", f"{os.path.relpath(path, link)}, which it leads to")
        return None

    def _keep(self, path: str, entry: PlaceEntry) -> str:
        if not self.watch.kept or entry.content is None:
            return ""
        self._number += 1
        kept = f"{self.watch.kept}.{self._number}.{os.path.basename(path)}"
        # If it cannot be stored, the replaced version is lost; the protected one is not.
        with suppress(OSError):
            os.makedirs(os.path.dirname(kept), mode=0o700, exist_ok=True)
            handle = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as opened:
                opened.write(entry.content)
            return kept
        return ""

    def _parent(self, path: str, *, make: bool) -> Parent:
        root = max((root for root in self._roots if path.startswith(f"{root}/")), key=len, default="")
        if not root or self._roots[root] < 0:
            raise OSError(f"{path} lies in no folder that was opened before")
        return Parent(self._roots[root], path[len(root) + 1 :].split("/"), make=make)


class Parent:
    """A handle on the folder that holds a path, reached step by step without following a link."""

    FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

    def __init__(self, root: int, parts: list[str], *, make: bool) -> None:
        self._name = parts[-1]
        self._modes: list[tuple[int, int]] = []
        self._folder = self._usable(os.dup(root))
        try:
            for part in parts[:-1]:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=self._folder)
                inner = self._usable(self._opened(part))
                os.close(self._folder)
                self._folder = inner
        except BaseException:
            self.__exit__()
            raise

    def _opened(self, part: str) -> int:
        try:
            return os.open(part, self.FOLDER, dir_fd=self._folder)
        except PermissionError:
            # An O_PATH handle needs no rights to the folder; through it, only this folder's mode is changed.
            handle = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._folder)
            try:
                mode = stat.S_IMODE(os.fstat(handle).st_mode)
                os.chmod(f"/proc/self/fd/{handle}", mode | 0o700)
                opened = os.open(part, self.FOLDER, dir_fd=self._folder)
            finally:
                os.close(handle)
            self._modes.append((os.dup(opened), mode))
            return opened

    def _usable(self, folder: int) -> int:
        """Give the user every right in the folder until exit; a command may have removed some."""
        found = os.fstat(folder)
        mode = stat.S_IMODE(found.st_mode)
        if mode & 0o700 != 0o700 and found.st_uid == os.geteuid():
            os.fchmod(folder, mode | 0o700)
            self._modes.append((os.dup(folder), mode))
        return folder

    def taken(self) -> list[tuple[int, int]]:
        """Return the folders whose modes were changed, each with its former mode; the caller restores them."""
        taken, self._modes = self._modes, []
        return taken

    def __enter__(self) -> Parent:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._folder)
        for handle, mode in reversed(self._modes):
            set_back(handle, mode)

    def clear(self) -> None:
        """Remove the entry, a folder with everything in it."""
        try:
            found = os.lstat(self._name, dir_fd=self._folder)
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(self._name, dir_fd=self._folder)
            return
        import shutil

        try:
            shutil.rmtree(self._name, dir_fd=self._folder)
        except OSError:
            # If it cannot be removed, no program obeys it under another name.
            self.rename(".set-aside")

    def make(self, entry: PlaceEntry) -> None:
        """Create an entry as it was copied."""
        if entry.kind == "folder":
            with suppress(FileExistsError):
                os.mkdir(self._name, dir_fd=self._folder)
            return
        content = entry.content or b""
        if entry.kind == "link":
            os.symlink(content, os.fsencode(self._name), dir_fd=self._folder)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(self._name, flags, 0o600, dir_fd=self._folder), "wb") as opened:
            opened.write(content)
            os.fchmod(opened.fileno(), entry.mode)

    def behead(self) -> None:
        """Rename the HEAD of the repository at this path."""
        with suppress(OSError):
            inner = os.open(self._name, self.FOLDER, dir_fd=self._folder)
            try:
                os.rename("HEAD", "HEAD.set-aside", src_dir_fd=inner, dst_dir_fd=inner)
            finally:
                os.close(inner)

    def rename(self, suffix: str) -> None:
        """Rename the entry to an unused name with this suffix."""
        number = 1
        while os.path.lexists(f"/proc/self/fd/{self._folder}/{self._name}{suffix}-{number}"):
            number += 1
        fresh = f"{self._name}{suffix}-{number}"
        os.rename(self._name, fresh, src_dir_fd=self._folder, dst_dir_fd=self._folder)


def set_back(handle: int, mode: int) -> None:
    """Restore the mode of a folder and close its handle."""
    with suppress(OSError):
        os.fchmod(handle, mode)
    os.close(handle)


def _folders_to(path: str, root: str) -> list[str]:
    """Return the folders between a root and a path, the uppermost first."""
    parts = path[len(root) + 1 :].split("/")[:-1] if path.startswith(f"{root}/") else []
    return ["/".join((root, *parts[:count])) for count in range(1, len(parts) + 1)]


def _is_git(path: str) -> bool:
    return os.path.basename(path) == ".git"


def _handle(folder: str) -> int:
    with suppress(OSError):
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return -1
