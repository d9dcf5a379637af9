"""Detects that a tool call of a session started this process, and then refuses CLI commands that are for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bridle.config.load import config_home, data_home, state_home
from bridle.errors import ConfigError
from bridle.process.ancestry import bridle_ancestors, hides_a_driver, sees_all_ancestors

JOURNAL = "journal.db"


def inside_call(environment: Mapping[str, str] | None = None, process: int | None = None) -> bool:
    """Return whether a tool call of a session with the same Bridle folders started a process, even indirectly.

    Without a number it is this process.
    """
    environment = os.environ if environment is None else environment
    above = bridle_ancestors(process)
    if not above and sees_all_ancestors():
        return False
    locks = data_home(environment) / f"{JOURNAL}.locks"
    if not above:
        return hides_a_driver(locks)
    folders = _folders(environment)
    return any(
        each.environment is None
        or not folders.isdisjoint(_folders(each.environment))
        or str(locks.resolve()) in each.locks
        for each in above
    )


def refuse_inside_call(what: str) -> None:
    """Raise `ConfigError` if this process runs inside a tool call."""
    if inside_call():
        raise ConfigError(f"{what} is for people: it is refused inside a tool call of a Bridle session")


def leave_terminal() -> None:
    """Replace a terminal as standard input with /dev/null inside a tool call, so that no question is answered there."""
    if sys.stdin is not None and sys.stdin.isatty() and inside_call():
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, sys.stdin.fileno())
        os.close(nowhere)


def _folders(environment: Mapping[str, str]) -> set[tuple[int, int] | str]:
    """Return Bridle's own folders by device and inode, so that different paths to one folder are equal."""
    found: set[tuple[int, int] | str] = set()
    for home in (config_home, data_home, state_home):
        with suppress(ConfigError):
            found.add(_identity(home(environment)))
    return found


def _identity(path: Path) -> tuple[int, int] | str:
    try:
        there = path.stat()
    except OSError:
        return str(path.resolve())
    return there.st_dev, there.st_ino
