"""Where a file tool may go: inside the project by default, outside only with a permission of its own."""

from __future__ import annotations

import difflib
import hashlib
from pathlib import Path

from bridle.core.permission import Access
from bridle.errors import ToolFailed


def located(directory: Path, given: str) -> Path:
    """The absolute path that a model means; links and dots are resolved, so that nothing hides behind them."""
    try:
        return (directory / Path(given).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolFailed(f"{given!r} is no path: {error}") from error


def shown(directory: Path, path: Path) -> str:
    """A path as people read it: relative inside the project."""
    root = directory.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def file_access(permission: str, directory: Path, given: str) -> tuple[Access, ...]:
    """The permissions for touching a file."""
    path = located(directory, given)
    accesses: tuple[Access, ...] = (Access(permission, shown(directory, path)),)
    if not path.is_relative_to(directory.resolve()):
        accesses += (Access("external_directory", str(path.parent / "*")),)
    return accesses


def digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def missing(directory: Path, path: Path) -> ToolFailed:
    """The error for a file that is not there, with the names that it may have meant."""
    folder = path.parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    near = difflib.get_close_matches(path.name, names, 3)
    hint = f" Did you mean {', '.join(shown(directory, folder / name) for name in near)}?" if near else ""
    return ToolFailed(f"{shown(directory, path)} does not exist.{hint}")


def regular(directory: Path, path: Path) -> None:
    """Refuse what is no plain file: a device or a pipe would hang or flood."""
    if not path.exists():
        raise missing(directory, path)
    if not path.is_file():
        raise ToolFailed(f"{shown(directory, path)} is not a regular file.")


def unchanged(directory: Path, path: Path, known: dict[str, str]) -> None:
    """Refuse a file that the model has not seen as it is now."""
    name = shown(directory, path)
    if str(path) not in known:
        raise ToolFailed(f"{name} exists and was not read in this session. Read it first.")
    if known[str(path)] != digest(path.read_bytes()):
        raise ToolFailed(f"{name} has changed since it was last read. Read it again first.")
