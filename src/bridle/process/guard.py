"""The second look at protected places: a copy before a command, and afterwards every difference is undone.

It works on files that a hostile command has just left behind. Each path is walked by handle from a folder that was
opened before the command started, and no link is followed. The supervisor runs it, so it happens however a command
ends, also when Bridle dies.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from bridle.process.places import Difference, Entry, Survey, Watch

MOST_REPORTED = 20
MOST_CONFIG = 65_536
SWITCHES = frozenset(
    {
        *("repositoryformatversion", "bare", "filemode", "symlinks", "ignorecase", "precomposeunicode"),
        *("logallrefupdates", "active"),
    }
)
TEXTS = frozenset({"url", "fetch", "merge", "remote", "pushremote", "name", "email", "defaultbranch"})
FORMATS = {"objectformat": ("sha1", "sha256"), "refstorage": ("files", "reftable")}
SECTIONS = ("[core]", "[user]", "[init]", "[extensions]", '[remote "', '[branch "', '[submodule "')


class Guard:
    """The protected places before a command. `look` compares them with those after it."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._roots = {root: _handle(root) for root in (watch.root, *watch.git)}
        self._before = Survey(watch)
        self._number = 0

    def look(self) -> list[Difference]:
        """Undo the differences; for each, tell the path and what was done about it."""
        after = Survey(self.watch)
        told: list[Difference] = []
        fresh = sorted(self._new_repositories(after))
        for git in fresh:
            told += self._judged(git, after)
        # What lies in a new repository was judged with it.
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
        if not (after.complete and self._before.complete):
            told.append(Difference(self.watch.root, "incomplete"))
        return told[:MOST_REPORTED]

    def _differs(self, path: str, after: Survey) -> bool:
        old, new = self._before.found.get(path), after.found.get(path)
        if any(path == allowed or path.startswith(f"{allowed}/") for allowed in self.watch.allowed):
            return False
        if old is None and new is not None and new.kind == "folder":
            # A folder that was made for a file which the command may make.
            return not any(allowed.startswith(f"{path}/") for allowed in self.watch.allowed)
        return new is not None if old is None else not old.same(new)

    def _new_repositories(self, after: Survey) -> set[str]:
        """Git folders and `.git` files that were not there before."""
        fresh = after.repositories - self._before.repositories
        return fresh | {path for path in after.found if _is_git(path) and path not in self._before.found}

    def _judged(self, git: str, after: Survey) -> list[Difference]:
        """A repository that the command has made stays if it is as plain as git makes it; else it is set aside."""
        if git in self.watch.allowed:
            return []
        entry = after.found.get(git)
        why = self._misleads(git, entry) if entry is not None and entry.kind != "folder" else _planted(git, after)
        if not why:
            return []
        if not self.watch.restore:
            return [Difference(git, "changed", why)]
        try:
            self._set_aside(git)
        except OSError as error:
            return [Difference(git, "changed", f"{why}: {error}")]
        return [Difference(git, "set aside", why)]

    def _misleads(self, path: str, entry: Entry) -> str:
        """Why a new `.git` file must go: it may only name a work tree or a submodule of this project."""
        if entry.kind != "file" or not (entry.content or b"").startswith(b"gitdir: "):
            return f"it is a {entry.kind}"
        target = os.fsdecode((entry.content or b"")[8:].rstrip(b"\n"))
        real = os.path.realpath(os.path.join(os.path.dirname(path), target.replace("\0", "")))
        if any(real.startswith(f"{git}/{kind}/") for git in self.watch.git for kind in ("worktrees", "modules")):
            return ""
        return "it names a folder that is not of this project's git"

    def _harmless(self, path: str, after: Survey) -> bool:
        """Whether a new entry may stay: part of a plain new work tree, or equal to one of that name from before."""
        folder, name = os.path.split(path)
        if os.path.basename(os.path.dirname(folder)) == "worktrees" and name in ("commondir", "gitdir"):
            return self._is_plain_worktree(folder, after)
        if path.startswith(tuple(f"{git}/" for git in self.watch.git)):
            return False
        suffix = self._suffix(path)
        entry = after.found[path]
        return bool(suffix) and any(
            old.same(entry) for known, old in self._before.found.items() if self._suffix(known) == suffix
        )

    def _is_plain_worktree(self, folder: str, after: Survey) -> bool:
        commondir, gitdir = after.found.get(f"{folder}/commondir"), after.found.get(f"{folder}/gitdir")
        if commondir is None or commondir.content != b"../..\n" or gitdir is None or gitdir.kind != "file":
            return False
        place = os.path.normpath(os.path.join(folder, os.fsdecode((gitdir.content or b"").rstrip(b"\n"))))
        return place.startswith(f"{self.watch.root}/") and _is_git(place)

    def _suffix(self, path: str) -> str:
        """A path from its protected name on, which is the same in another work tree."""
        parts = path[len(self.watch.root) + 1 :].split("/")
        for place, part in enumerate(parts):
            if part.lower() in self.watch.names:
                return "/".join(parts[place:])
        return ""

    def _undone(self, path: str, old: Entry | None, new: Entry | None) -> Difference:
        if not self.watch.restore or (old is not None and old.content is None):
            return Difference(path, "changed")
        kept = self._keep(path, new) if new is not None and new.kind == "file" else ""
        try:
            with self._parent(path, make=old is not None) as parent:
                if old is None or old.kind != "folder" or new is None or new.kind != "folder":
                    parent.clear()
                if old is not None:
                    parent.make(old)
        except OSError as error:
            return Difference(path, "changed", error.strerror or str(error))
        return Difference(path, "removed" if old is None else "restored", kept=kept)

    def _keep(self, path: str, entry: Entry) -> str:
        if not self.watch.kept or entry.content is None:
            return ""
        self._number += 1
        kept = f"{self.watch.kept}.{self._number}.{os.path.basename(path)}"
        # Where there is no room for it, the replaced version is lost; the protected one is not.
        with suppress(OSError):
            handle = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as opened:
                opened.write(entry.content)
            return kept
        return ""

    def _set_aside(self, git: str) -> None:
        """Rename a repository and its head, so that git takes neither for one."""
        with self._parent(git, make=False) as parent:
            parent.behead()
            parent.rename(".set-aside")

    def _parent(self, path: str, *, make: bool) -> Parent:
        root = max((root for root in self._roots if path.startswith(f"{root}/")), key=len, default="")
        if not root or self._roots[root] < 0:
            raise OSError(f"{path} lies in no folder that was opened before")
        return Parent(self._roots[root], path[len(root) + 1 :].split("/"), make=make)


class Parent:
    """A handle on the folder that holds a path, reached step by step without following a link."""

    FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

    def __init__(self, root: int, parts: list[str], *, make: bool) -> None:
        self._folder = os.dup(root)
        self._name = parts[-1]
        try:
            for part in parts[:-1]:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=self._folder)
                inner = os.open(part, self.FOLDER, dir_fd=self._folder)
                os.close(self._folder)
                self._folder = inner
        except BaseException:
            os.close(self._folder)
            raise

    def __enter__(self) -> Parent:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._folder)

    def clear(self) -> None:
        """Remove what lies there, a folder with everything in it."""
        try:
            found = os.lstat(self._name, dir_fd=self._folder)
        except FileNotFoundError:
            return
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(self._name, dir_fd=self._folder)
            return
        import shutil

        shutil.rmtree(self._name, dir_fd=self._folder)

    def make(self, entry: Entry) -> None:
        """Put an entry there as it was copied."""
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
        """Rename the head of a repository that lies there."""
        with suppress(OSError):
            inner = os.open(self._name, self.FOLDER, dir_fd=self._folder)
            try:
                os.rename("HEAD", "HEAD.set-aside", src_dir_fd=inner, dst_dir_fd=inner)
            finally:
                os.close(inner)

    def rename(self, suffix: str) -> None:
        """Give what lies there another name, one that is free."""
        number = 1
        while os.path.lexists(f"/proc/self/fd/{self._folder}/{self._name}{suffix}-{number}"):
            number += 1
        fresh = f"{self._name}{suffix}-{number}"
        os.rename(self._name, fresh, src_dir_fd=self._folder, dst_dir_fd=self._folder)


def _planted(git: str, after: Survey) -> str:
    """What in a new repository would make git run or obey something; empty if nothing would."""
    for path, found in after.found.items():
        inner = path[len(git) + 1 :]
        if not path.startswith(f"{git}/") or (inner == "hooks" and found.kind == "folder"):
            continue
        sample = inner.startswith("hooks/") and inner.endswith(".sample") and found.kind == "file"
        if not sample and not (inner == "config" and is_plain(found)):
            return f"its {inner}"
    return ""


def is_plain(config: Entry) -> bool:
    """Whether a configuration holds only what git itself writes into that of a new repository."""
    if config.kind != "file" or config.content is None or len(config.content) > MOST_CONFIG:
        return False
    text = config.content.decode("latin-1")
    return all(_is_plain_line(line.strip(" \t")) for line in text.split("\n"))


def _is_plain_line(line: str) -> bool:
    if not all(" " <= letter <= "~" or letter == "\t" for letter in line) or "\\" in line:
        return False
    if not line:
        return True
    if line.startswith("["):
        quoted = line[:-2].partition('"')[2]
        return line in SECTIONS[:4] or (line.startswith(SECTIONS[4:]) and line.endswith('"]') and '"' not in quoted)
    name, equals, value = (piece.strip(" \t") for piece in line.partition("="))
    if name.lower() in FORMATS:
        return value in FORMATS[name.lower()]
    if name.lower() in SWITCHES:
        return bool(equals) and value in ("true", "false", "0", "1")
    return name.lower() in TEXTS and bool(equals) and not set(value) & set('"#;')


def _is_git(path: str) -> bool:
    return os.path.basename(path) == ".git"


def _handle(folder: str) -> int:
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return -1
