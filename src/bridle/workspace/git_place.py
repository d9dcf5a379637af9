"""Finds a project's git folders and the paths that git obeys there, without trusting any, for sandbox and tools."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bridle.workspace.bounded_read import head_or_nothing

MOST_BYTES = 65_536
MOST_CONFIG = 1 << 20
MOST_INCLUDES = 20
GIT_SECONDS = 10.0
ESSENTIAL = ("HEAD", "objects", "refs")
STEERING = ("config", "hooks", "info", "commondir", "worktrees", "modules")
"""Entries that are never links in an ordinary git folder."""
NAMES_FILES = r"^(core\.hookspath|include\.path|includeif\..*\.path)$"
ISOLATED = {
    "LC_ALL": "C",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
"""Environment in which git reads no settings of the user or the system."""


@dataclass(frozen=True, slots=True)
class GitPlace:
    """The git folders of the work tree that contains a project."""

    top: Path
    """The top of the work tree; the project itself if it has no git."""
    folders: tuple[Path, ...] = ()
    """Ordinary git folders: the work tree's own, and the one that it shares with other work trees."""
    locked: tuple[Path, ...] = ()
    """Unusual git folders, and files that point to a git folder: no command may write them."""


def git_place(project: Path) -> GitPlace:
    """Find the git folders of a project. Anything not understood is locked, never ignored."""
    for folder in (project, *project.parents):
        found = folder / ".git"
        if os.path.islink(found):
            target = found.resolve()
            # A link that leads outside makes nothing there writable.
            return GitPlace(folder, locked=(target,) if target.is_relative_to(folder) and target != folder else ())
        if os.path.isdir(found):
            return GitPlace(folder, (found,)) if _is_ordinary(found) else GitPlace(folder, locked=(found,))
        if os.path.exists(found):
            return GitPlace(folder, _pointed(found), (found,))
    return GitPlace(project)


def git_folders(project: Path) -> tuple[Path, ...]:
    """Return the ordinary git folders of a project; none if anything about them is unusual."""
    return git_place(project).folders


def _is_git(folder: Path) -> bool:
    return os.path.isdir(folder) and all(os.path.exists(folder / name) for name in ESSENTIAL)


def _is_ordinary(folder: Path) -> bool:
    links = any(os.path.islink(folder / name) for name in (*STEERING, *ESSENTIAL[1:]))
    return _is_git(folder) and not links and not os.path.exists(folder / "commondir")


def _pointed(file: Path) -> tuple[Path, ...]:
    """Return the folders behind a `.git` file: those of a work tree that points back, or of a submodule."""
    _, found, path = _text(file).partition("gitdir:")
    if not found:
        return ()
    try:
        own = (file.parent / path.strip()).resolve()
        common = own.parent.parent
        back = (own / (_text(own / "gitdir").strip() or "/nonexistent")).resolve()
        if own.parent.name == "worktrees" and _is_ordinary(common) and back == file.resolve():
            return (own, common)
        above = next((folder / ".git" for folder in file.parent.parents if _is_git(folder / ".git")), None)
    except (OSError, ValueError):
        return ()
    if above is not None and own.is_relative_to(above.resolve() / "modules") and _is_ordinary(own):
        return (own,)
    return ()


def _text(file: Path) -> str:
    """Return the text of a small regular file; empty for anything else."""
    if os.path.islink(file) or not os.path.isfile(file):
        return ""
    return head_or_nothing(file, MOST_BYTES).decode("utf-8", errors="replace").replace("\0", "")


def obeyed_around(path: Path, project: Path, git: str | None) -> tuple[Path, ...]:
    """Return the paths that repositories around a path run or obey besides their own files, up to the project's."""
    found: list[Path] = []
    for folder in (folder for folder in path.parents if folder.is_relative_to(project)):
        if os.path.lexists(folder / ".git"):
            place = git_place(folder)
            found += named_by_config(place, git)
            found += linked_in(place)
    return tuple(found)


def linked_in(place: GitPlace) -> tuple[Path, ...]:
    """Return the targets of a repository's hooks that are links, or of its hooks folder if that is one."""
    found: list[Path] = []
    for folder in (*place.folders, *place.locked):
        hooks = folder / "hooks"
        with suppress(OSError):
            entries = [hooks] if os.path.islink(hooks) else [Path(entry.path) for entry in os.scandir(hooks)]
            found += [entry.resolve() for entry in entries if os.path.islink(entry)]
    return tuple(found)


@cache
def hooks_of_user(git: str | None, home: str, config: str) -> tuple[str, ...]:
    """Return the values of `core.hooksPath` in the user's own configuration; git applies them to each work tree."""
    own = (Path(config or f"{home}/.config", "git", "config"), Path(home, ".gitconfig"), Path("/etc/gitconfig"))
    text = "".join(_text(Path(os.path.realpath(path))) for path in own).lower()
    if "hookspath" not in text and "include" not in text:
        return ()
    found = user_settings(git, r"^core\.hookspath$", {"HOME": home, "XDG_CONFIG_HOME": config})
    return tuple(os.fsdecode(value) for _, value in found if value)


def user_settings(
    git: str | None, pattern: str, environment: Mapping[str, str], *scope: str
) -> Iterator[tuple[str, bytes]]:
    """Yield the user's own git settings that match a pattern, as key and value; git sees no repository."""
    kept = {name: environment[name] for name in ("HOME", "XDG_CONFIG_HOME") if environment.get(name)}
    return _settings(git, [*scope, "--get-regexp", pattern], kept)


def _settings(
    git: str | None, question: list[str], environment: Mapping[str, str], content: bytes = b""
) -> Iterator[tuple[str, bytes]]:
    """Yield the keys and values that `git config` prints; none if there is no git, or if it fails."""
    if git is None:
        return
    try:
        done = subprocess.run(
            [git, "config", "-z", *question],
            input=content,
            capture_output=True,
            cwd="/",
            env={**environment, "PATH": os.defpath, "GIT_DIR": "/nonexistent"},
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    for piece in done.stdout.split(b"\0"):
        key, has_value, value = piece.partition(b"\n")
        if has_value:
            yield os.fsdecode(key).lower(), value


def named_by_config(place: GitPlace, git: str | None, environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return the paths that git's configuration names: `core.hooksPath`, and files that it includes.

    Git gets the configuration on standard input, as a copy that it parses and does not obey.
    """
    found: dict[Path, None] = {}
    for value in hooks_of_user(git, environment.get("HOME", ""), environment.get("XDG_CONFIG_HOME", "")):
        with suppress(OSError, ValueError, RuntimeError):
            found[Path(os.path.normpath(place.top / Path(value).expanduser()))] = None
    waiting = [folder / name for folder in place.folders for name in ("config", "config.worktree")]
    while waiting and len(found) < MOST_INCLUDES:
        file = waiting.pop()
        for key, value in _named(file, git):
            # Hooks are relative to the work tree, included files to the file that includes them.
            base = place.top if key == "core.hookspath" else file.parent
            with suppress(OSError, ValueError, RuntimeError):
                path = Path(os.path.normpath(base / Path(value).expanduser()))
                if path not in found and key != "core.hookspath":
                    waiting.append(path)
                found[path] = None
    return tuple(found)


def _named(file: Path, git: str | None) -> Iterator[tuple[str, str]]:
    content = head_or_nothing(file, MOST_CONFIG)
    lowered = content.lower()
    if b"include" in lowered or b"hookspath" in lowered:
        question = ["--file", "-", "--no-includes", "--get-regexp", NAMES_FILES]
        found = _settings(git, question, ISOLATED, content)
        yield from ((key, os.fsdecode(value)) for key, value in found if value)
