"""`Approvals`: reads, adds and revokes a project's permanently granted permissions, in one JSON file of the user."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bridle.core.permission import DOOM_LOOP, Access
from bridle.errors import ConfigError
from bridle.workspace.json_store import JsonStore


class Approvals:
    """The approvals of one project, in the user's file for all projects."""

    def __init__(self, path: Path, project: Path) -> None:
        self._kept = JsonStore(path, dict[str, list[Access]])
        self._project = str(project.resolve())

    def all(self) -> list[Access]:
        """Return the approvals in the order they were given; raises `ConfigError` if the file is unreadable."""
        return self._kept.read().get(self._project, [])

    def add(self, accesses: Iterable[Access]) -> None:
        """Store approvals. Those for doom loops are skipped, because each loop has to be approved anew."""
        fresh = [access for access in accesses if access.permission != DOOM_LOOP]
        if fresh:
            self._kept.change(self._project, lambda known: list(dict.fromkeys([*(known or []), *fresh])))

    def revoke(self, number: int | None) -> list[Access]:
        """Remove the approval with this number (from 1), or all, and return the removed ones; raises `ConfigError`."""
        gone: list[Access] = []

        def change(given: list[Access] | None) -> list[Access]:
            known = given or []
            if number is not None and not 0 < number <= len(known):
                raise ConfigError(f"there is no approval {number}: this project has {len(known)}")
            gone.extend(known if number is None else [known[number - 1]])
            return [access for access in known if access not in gone]

        self._kept.change(self._project, change)
        return gone


def described(access: Access) -> str:
    """Return an approval as text."""
    return f"{access.permission}: {access.always or access.pattern}" + (" (exactly this)" if not access.always else "")
