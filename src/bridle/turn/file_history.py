"""What a turn asks of whoever keeps the files of projects as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import msgspec

from bridle.core.parts import Changed, Patch


class Compared(msgspec.Struct, frozen=True):
    """The files after some calls, and how they differ from those before."""

    after: str
    files: tuple[Changed, ...] = ()
    more: int = 0
    unkept: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    moved: dict[str, str] = {}
    closed: float = 0.0


class FileHistory(Protocol):
    """The files of projects as they were. Both raise `SnapshotFailed`, and may be cancelled."""

    async def take(self, directory: Path, session: str) -> str:
        """The name by which the files are known as they are now, until the session's next one."""

    async def compare(self, directory: Path, session: str, patch: Patch) -> Compared:
        """How the files differ now from those before a patch; both stay known as long as the session."""
