"""`LeaderScreen`: shows the keys after the leader key, and takes one."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical

from bridle.surfaces.tui.commands import WORDS
from bridle.surfaces.tui.keys import KeyMap, leader_lines
from bridle.surfaces.tui.widgets import Dialog, Static


class LeaderScreen(Dialog[str | None]):
    """The keys after the leader key; returns the name of what the pressed one does, or None."""

    SCOPED_CSS = False
    CSS = """
    LeaderScreen { align: center bottom; background: transparent; }
    LeaderScreen .dialog { max-height: 60%; width: 100%; max-width: 100%; overflow-y: auto; }
    """

    def __init__(self, keys: KeyMap) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static("\n".join(leader_lines(self._keys, WORDS)), id="keys")

    def on_key(self, event: events.Key) -> None:
        """Take any key: one without a meaning only closes the list."""
        event.stop()
        self.dismiss(self._keys.after_leader().get(event.key))
