"""Detects that a tool call of a session started this process, and then refuses CLI commands that are for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from bridle.config.load import config_home, data_home, journal_place, load, state_home
from bridle.errors import ConfigError
from bridle.journal.address import is_postgres
from bridle.journal.lock import lock_folder
from bridle.process.ancestry import Ancestor, bridle_ancestors, hides_a_driver, sees_all_ancestors


def inside_call(environment: Mapping[str, str] | None = None, process: int | None = None) -> bool:
    """Return whether a tool call of a session with the same Bridle folders or journal started a process.

    Without a number it is this process.
    """
    environment = os.environ if environment is None else environment
    above = bridle_ancestors(process)
    if not above and sees_all_ancestors():
        return False
    if not above:
        journal = _journal(environment)
        return isinstance(journal, Path) and hides_a_driver(lock_folder(journal))
    folders = _folders(environment)
    return any(
        each.environment is None or not folders.isdisjoint(_folders(each.environment)) for each in above
    ) or _is_shared(_journal(environment), above)


def _journal(environment: Mapping[str, str]) -> str | Path | None:
    """Return the address or the path of the journal of the settings; None if these cannot be read."""
    try:
        place = journal_place(load(Path.cwd(), environment=environment).settings, environment)
        return str(place) if is_postgres(str(place)) else Path(place).expanduser()
    except (ConfigError, OSError):
        return None


def _is_shared(journal: str | Path | None, above: Iterable[Ancestor]) -> bool:
    """Return whether a journal is one of these processes', which may know it under other names."""
    if not isinstance(journal, Path):
        # An address can be spelled in many ways, and a program may have another one than its settings say.
        return True
    here = _identity(journal)
    for each in above:
        theirs = _journal(each.environment or {})
        if str(lock_folder(journal)) in each.locks or (isinstance(theirs, Path) and _identity(theirs) == here):
            return True
    return False


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
