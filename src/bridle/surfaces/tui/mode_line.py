"""`ModeLine`: one line above the editor for unusual states, such as shell mode, with the key that ends them."""

from __future__ import annotations

from bridle.core.permission import Approvals
from bridle.surfaces.tui.widgets import Static

APPROVALS: dict[Approvals, str] = {
    "rules": "",
    "ask": "approvals: every edit and command asks",
    "auto": "approvals: automatic, all but protected files",
}


class ModeLine(Static):
    """Approvals, shell mode, postponed requests and short hints; hidden if there is nothing to say."""

    def __init__(self) -> None:
        super().__init__("", id="mode")
        self.display = False
        self._said: dict[str, str] = {}

    def say(self, about: str, words: str) -> None:
        """Say something about a subject; empty words end it."""
        self._said[about] = words
        shown = " · ".join(each for each in self._said.values() if each)
        self.display = bool(shown)
        self.update(shown)
