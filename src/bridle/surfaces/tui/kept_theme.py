"""`KeptTheme`: the theme that a person has picked, kept in a file until the setting changes."""

from __future__ import annotations

from pathlib import Path

import msgspec


class PickedTheme(msgspec.Struct, frozen=True):
    """A picked theme, and the setting that it replaces."""

    name: str
    setting: str


class KeptTheme:
    """The pick of a person. A file that cannot be read or written only forgets it."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / "theme.json" if folder is not None else None

    def picked(self, setting: str) -> str:
        """Return the theme that was picked over this setting; empty if there is none."""
        try:
            kept = msgspec.json.decode(self._path.read_bytes(), type=PickedTheme) if self._path is not None else None
        except (OSError, msgspec.MsgspecError):
            return ""
        return kept.name if kept is not None and kept.setting == setting else ""

    def keep(self, name: str, setting: str) -> None:
        """Keep a pick for the next start."""
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.write_bytes(msgspec.json.encode(PickedTheme(name, setting)))
        except OSError:
            # The pick holds until the end of the application.
            return
