"""What a person has said always to, project by project."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bridle.config.json_store import JsonStore
from bridle.core.permission import DOOM_LOOP, Access
from bridle.errors import ConfigError

Table = dict[str, list[Access]]


class Approvals:
    """The approvals of one project, kept for the user in one file for all projects."""

    def __init__(self, path: Path, project: Path) -> None:
        self._kept: JsonStore[Table] = JsonStore(path, Table, {})
        self._project = str(project.resolve())

    def all(self) -> list[Access]:
        """In the order in which they were given; raises `ConfigError` if the file makes no sense."""
        return self._kept.read().get(self._project, [])

    def add(self, accesses: Iterable[Access]) -> None:
        """Remember them. A doom loop is never remembered: what is one is said anew each time."""
        fresh = [access for access in accesses if access.permission != DOOM_LOOP]

        def change(table: Table) -> Table:
            known = table.get(self._project, [])
            return {**table, self._project: [*known, *(access for access in fresh if access not in known)]}

        if fresh:
            self._kept.change(change)

    def revoke(self, number: int | None) -> list[Access]:
        """Forget the one of this number, counted from 1, or all; returns what was forgotten."""
        gone: list[Access] = []

        def change(table: Table) -> Table:
            known = table.get(self._project, [])
            if number is not None and not 0 < number <= len(known):
                raise ConfigError(f"there is no approval {number}: this project has {len(known)}")
            gone.extend(known if number is None else [known[number - 1]])
            return {**table, self._project: [access for access in known if access not in gone]}

        self._kept.change(change)
        return gone


def described(access: Access) -> str:
    """An approval as people read it: what it lets pass."""
    return f"{access.permission}: {access.always or access.pattern}" + (" (exactly this)" if not access.always else "")
