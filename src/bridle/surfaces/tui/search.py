"""`SearchLine`: searches the transcript of a session, older parts included."""

from __future__ import annotations

import re
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message

from bridle.core.parts import Call, Notice, Part, Prompt, Reasoning, Sentinel, Text
from bridle.core.session import Session
from bridle.core.states import Done, Failed
from bridle.surfaces.tui.widgets import Static, TextInput

MARKS = re.compile(r"[*`]")


def words_of(part: Part) -> str:
    """Return the text of a part that a search looks at."""
    match part:
        case Text():
            # As it is shown, without the marks of Markdown.
            return MARKS.sub("", part.text)
        case Prompt() | Reasoning() | Notice() | Sentinel():
            return part.text
        case Call():
            state = part.state
            output = f"{state.output}\n{getattr(state, 'diff', '')}" if isinstance(state, (Done, Failed)) else ""
            return f"{part.name} {part.given}\n{output}"
    return ""


def found(session: Session, sought: str) -> list[str]:
    """Return the ids of the parts that contain a text, in any case, the newest first."""
    wanted = sought.casefold()
    return [part.id for part in reversed(session.parts.values()) if wanted and wanted in words_of(part).casefold()]


class SearchLine(Horizontal):
    """A line to type the sought text: enter and up go to older places, down to newer ones, esc closes it."""

    @dataclass
    class Sought(Message):
        """A text is sought: at another place for a step of 1 (older) or -1 (newer), or for the first time."""

        text: str
        step: int

    class Closed(Message):
        """The search has ended."""

    def __init__(self) -> None:
        self.input = TextInput(placeholder="search · enter: older · ↓ newer · esc closes", id="sought", compact=True)
        self.count = Static("", id="found")
        super().__init__(id="search")

    def compose(self) -> ComposeResult:
        yield self.input
        yield self.count

    def open(self) -> None:
        self.display = True
        self.input.focus()

    def tell(self, place: int, total: int) -> None:
        """Show at which of the found places the transcript is."""
        self.count.update(f"{place + 1}/{total}" if total else "not found" if self.input.value else "")

    def on_input_changed(self, event: TextInput.Changed) -> None:
        event.stop()
        self.post_message(self.Sought(event.value, 0))

    def on_input_submitted(self, event: TextInput.Submitted) -> None:
        event.stop()
        self.post_message(self.Sought(event.value, 1))

    def on_key(self, event: events.Key) -> None:
        if event.key in ("up", "down"):
            event.stop()
            self.post_message(self.Sought(self.input.value, 1 if event.key == "up" else -1))
        elif event.key == "escape":
            event.stop()
            self.display = False
            self.input.value = ""
            self.post_message(self.Closed())
