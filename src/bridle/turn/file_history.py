"""`FileHistory`: protocol by which a turn takes and compares snapshots of files; implemented in `snapshots`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from bridle.core.parts import Patch


class FileHistory(Protocol):
    """Snapshots of project files. Both methods raise `SnapshotFailed`, and may be cancelled."""

    async def take(self, directory: Path, session: str) -> str:
        """Take a snapshot of the files and return its name, valid until the session's next one."""

    async def compare(self, directory: Path, session: str, patch: Patch) -> Patch:
        """Compare the files with those before a patch; both snapshots are kept as long as the session."""
