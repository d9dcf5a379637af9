"""Where a project's git keeps its own files, as far as that can be believed: a command may have written it there."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice
from pathlib import Path

MOST_BYTES = 65_536
MOST_MODULES = 100
HARMLESS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)|"
    r"user\.(name|email)|remote\..*\.(url|fetch)|branch\..*\.(remote|merge)|init\.defaultbranch|submodule\..*"
)


def git_folders(project: Path) -> tuple[Path, ...]:
    """The folder of git for the work tree that holds a project, and the one that it shares with other work trees.

    Only what git itself has made so is believed: else a project could name any folder.
    """
    for folder in (project, *project.parents):
        found = folder / ".git"
        if found.is_symlink():
            return ()
        if _is_git(found):
            return (found,)
        if found.is_file():
            return _pointed(found, project)
    return ()


def _is_git(folder: Path) -> bool:
    return folder.is_dir() and all((folder / name).exists() for name in ("HEAD", "objects", "refs"))


def _pointed(file: Path, project: Path) -> tuple[Path, ...]:
    """The folders behind a `.git` file: those of a work tree that points back, or of a submodule."""
    _, found, path = _text(file).partition("gitdir:")
    if not found:
        return ()
    try:
        own = (file.parent / path.strip()).resolve()
        common = own.parent.parent
        back = Path(_text(own / "gitdir").strip() or "/nonexistent").resolve()
        if own.parent.name == "worktrees" and _is_git(common) and back == file.resolve():
            return (own, common)
        above = next((folder / ".git" for folder in file.parent.parents if _is_git(folder / ".git")), None)
    except (OSError, ValueError):
        return ()
    if above is not None and own.is_relative_to(above.resolve() / "modules") and _is_git(own):
        return (own,)
    return ()


def _text(file: Path) -> str:
    """What a small regular file says; nothing if it is anything else."""
    if file.is_symlink() or not file.is_file():
        return ""
    try:
        with file.open("rb") as opened:
            return opened.read(MOST_BYTES).decode("utf-8", errors="replace").replace("\0", "")
    except OSError:
        return ""


def steering_files(git: Path, project: Path) -> list[Path]:
    """What makes git run or obey something later, apart from hooks: settings, and what they include or point to."""
    found = [git / "config", git / "commondir", git / "gitdir", git / "config.worktree"]
    for tree in _below(git / "worktrees"):
        found += [tree / name for name in ("commondir", "gitdir", "config.worktree")]
    for module in submodules(git):
        found += [module / "config", module / "hooks"]
    for key, value in _settings(_text(git / "config")):
        if key == "core.hookspath" or key.startswith("include"):
            with suppress(OSError, ValueError, RuntimeError):
                found.append((project / Path(value).expanduser()).resolve())
    return [path for path in found if path.exists() and not path.is_symlink()]


def submodules(git: Path) -> list[Path]:
    """The folders of submodules, which have hooks and settings of their own."""
    first = _below(git / "modules")
    return [path for path in (*first, *(inner for path in first for inner in _below(path))) if _is_git(path)]


def _below(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return []
    return [path for path in islice(folder.iterdir(), MOST_MODULES) if path.is_dir() and not path.is_symlink()]


def _settings(text: str) -> list[tuple[str, str]]:
    """The settings of a git file, as `section.name` and value; good enough to find what is not harmless."""
    found: list[tuple[str, str]] = []
    section = ""
    for line in text.splitlines():
        head = re.match(r"\s*\[\s*([\w.-]+)(?:\s+\"(.*)\")?\s*\]", line)
        if head:
            section = f"{head[1]}.{head[2]}" if head[2] else head[1]
            line = line[head.end() :]
        name, _, value = line.partition("=")
        if name.strip() and not name.strip().startswith(("#", ";")):
            found.append((f"{section}.{name.strip()}".lower(), value.strip().strip('"')))
    return found


def planted(git: Path) -> str:
    """What in a `.git` that a command has made would run something when a person uses git; empty if nothing."""
    if not git.is_dir():
        return f"{git.name} is no folder" if git.exists() or git.is_symlink() else ""
    for key, _ in _settings(_text(git / "config")):
        if not HARMLESS.fullmatch(key):
            return f"its setting {key}"
    hooks = git / "hooks"
    if hooks.is_symlink() or (git / "config").is_symlink():
        return "a link"
    named = [path.name for path in hooks.iterdir() if path.suffix != ".sample"] if hooks.is_dir() else []
    return f"its hook {named[0]}" if named else "its commondir" if (git / "commondir").exists() else ""
