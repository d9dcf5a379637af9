"""`Kept`: a person's recent and favorite models, kept in a file for the next start."""

from __future__ import annotations

from pathlib import Path

import msgspec

MOST_RECENT = 6


class KeptModels(msgspec.Struct, frozen=True):
    """References of models."""

    recent: tuple[str, ...] = ()
    """The last chosen ones, newest first."""
    favorites: tuple[str, ...] = ()


class Kept:
    """The choices of a person. A file that cannot be read or written only forgets them."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / "models.json" if folder is not None else None
        self.models = self._read()

    def use(self, ref: str) -> None:
        """Put a model first among the recent ones."""
        recent = (ref, *(each for each in self.models.recent if each != ref))[:MOST_RECENT]
        self._write(KeptModels(recent, self.models.favorites))

    def toggle(self, ref: str) -> bool:
        """Make a model a favorite, or no longer; return whether it is one now."""
        favorites = tuple(each for each in self.models.favorites if each != ref)
        added = len(favorites) == len(self.models.favorites)
        self._write(KeptModels(self.models.recent, (*favorites, ref) if added else favorites))
        return added

    def _read(self) -> KeptModels:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=KeptModels) if self._path else KeptModels()
        except (OSError, msgspec.MsgspecError):
            return KeptModels()

    def _write(self, models: KeptModels) -> None:
        self.models = models
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.write_bytes(msgspec.json.encode(models))
        except OSError:
            # The choice holds until the end of the application.
            return
