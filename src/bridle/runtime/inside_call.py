"""Detects that a tool call of a session started this process, and then refuses CLI commands that are for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bridle.config.load import ENVIRONMENT_PREFIX, config_home, data_home, journal_place, load, state_home
from bridle.errors import ConfigError
from bridle.journal.address import is_postgres
from bridle.journal.lock import lock_folder
from bridle.process.ancestry import Ancestor, bridle_ancestors, hides_a_driver, sees_all_ancestors

JOURNAL = "journal.db"


def inside_call(environment: Mapping[str, str] | None = None, process: int | None = None) -> bool:
    """Return whether a tool call of a session with the same Bridle folders or journal started a process.

    Without a number it is this process.
    """
    environment = os.environ if environment is None else environment
    above = bridle_ancestors(process)
    if not above and sees_all_ancestors():
        return False
    journals = _journals(environment)
    if not above:
        known = journals or [data_home(environment) / JOURNAL]
        return any(hides_a_driver(lock_folder(path)) for path in known)
    folders = _folders(environment)
    return any(
        each.environment is None or not folders.isdisjoint(_folders(each.environment)) for each in above
    ) or _is_shared(journals, above)


def _journals(environment: Mapping[str, str]) -> list[Path] | None:
    """Return the files that may be the journal of a process; None if it may be on a server, or cannot be known.

    They are that of its folders, that of its settings, and that without the settings of its environment.
    """
    found = [data_home(environment) / JOURNAL]
    files = {name: value for name, value in environment.items() if not name.startswith(ENVIRONMENT_PREFIX)}
    for given in (environment, files):
        try:
            place = journal_place(load(Path.cwd(), environment=given).settings, given)
            if is_postgres(str(place)):
                return None
        except (ConfigError, OSError):
            return None
        found.append(Path(place).expanduser())
    return found


def _is_shared(journals: Sequence[Path] | None, above: Iterable[Ancestor]) -> bool:
    """Return whether one of these processes has one of these journals, perhaps under another name."""
    if journals is None:
        # An address can be spelled in many ways, and a program may have another one than its settings say.
        return True
    mine = {_identity(path) for path in journals}
    locks = {str(lock_folder(path)) for path in journals}
    return any(
        not locks.isdisjoint(each.locks) or not mine.isdisjoint(map(_identity, _journals(each.environment or {}) or ()))
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
