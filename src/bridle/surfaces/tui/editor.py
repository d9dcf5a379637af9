"""The prompt editor: several lines, history, and completion of commands, agents and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from bridle.errors import ConfigError
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.paste import Pasted, clipboard_image
from bridle.surfaces.tui.widgets import OptionList, TextArea

MOST_FILES = 5_000
MOST_SHOWN = 6
SKIPPED = frozenset({".git", "node_modules", ".venv", "__pycache__", "target", "dist"})


class Completions(OptionList):
    """Completions of the word at the cursor."""

    can_focus = False


class Editor(TextArea):
    """A text area: enter sends, shift+enter, alt+enter or ctrl+j insert a new line, up and down browse the history."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+v", "paste_anything", "Paste", show=False)]

    @dataclass
    class Sent(Message):
        """A prompt was submitted."""

        text: str
        pasted: Pasted

    def __init__(self, completions: Completions, known: Callable[[], Sequence[str]], directory: Path) -> None:
        super().__init__(id="editor", soft_wrap=True, show_line_numbers=False, compact=True)
        self._completions = completions
        self._known = known
        self._directory = directory
        self._files: list[str] | None = None
        self.asked: list[str] = []
        self._at = 0
        self._pasted = Pasted()
        self._marked: dict[str, Pasted] = {}
        """Pasted content of earlier prompts, by prompt text."""

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        try:
            self.insert(self._pasted.mark_of(event.text))
        except ConfigError as error:
            self.notify(line(str(error)), severity="error")

    async def action_paste_anything(self) -> None:
        """Paste an image from the system clipboard, or else the text copied in this application."""
        try:
            image = await clipboard_image()
        except (ConfigError, OSError) as error:
            self.notify(line(str(error)), severity="error")
            return
        if image is not None:
            self.insert(self._pasted.add(image))
        else:
            self.action_paste()

    async def _on_key(self, event: events.Key) -> None:
        if self._completions.display and event.key in ("tab", "down", "up", "escape"):
            self._complete(event.key)
        elif event.key == "enter":
            self._send()
        elif event.key in ("shift+enter", "alt+enter", "ctrl+j"):
            self.insert("\n")
        elif event.key not in ("up", "down") or not self._recalls(event.key):
            await super()._on_key(event)
            return
        event.prevent_default()
        event.stop()

    def _send(self) -> None:
        words = self.text.strip()
        if not words:
            return
        self.asked.append(self.text)
        self._marked[self.text] = self._pasted
        self._at = len(self.asked)
        self.text = ""
        self._completions.display = False
        self.post_message(self.Sent(words, self._pasted))
        self._pasted = Pasted()

    def put_back(self, words: str, pasted: Pasted) -> None:
        """Restore a prompt that could not be sent, for correction."""
        self.text, self._pasted = words, pasted

    def _recalls(self, key: str) -> bool:
        """Browse the history if the cursor cannot move further."""
        row = self.cursor_location[0]
        if key == "up" and row == 0 and self._at > 0:
            self._at -= 1
        elif key == "down" and row == self.document.line_count - 1 and self._at < len(self.asked):
            self._at += 1
        else:
            return False
        self.text = self.asked[self._at] if self._at < len(self.asked) else ""
        self._pasted = self._marked.get(self.text) or Pasted()
        self.move_cursor(self.document.end)
        return True

    def on_text_area_changed(self) -> None:
        word = self._word()
        found = list(self._matching(word)) if word[:1] in ("@", "/") else []
        self._completions.show(found)
        self._completions.display = bool(found)

    def _word(self) -> str:
        """Return the word that ends at the cursor; a command counts only at the very beginning."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        word = before.rpartition(" ")[2]
        return "" if word.startswith("/") and (row or " " in before) else word

    def _matching(self, word: str) -> Iterator[str]:
        wanted = word[1:].casefold()
        names = [name for name in self._known() if name.startswith(word[0])]
        if word[0] == "@":
            names += [f"@{path}" for path in self._paths()]
        begin = [name for name in names if name[1:].casefold().startswith(wanted) and name != word]
        inside = [name for name in names if wanted and wanted in name[1:].casefold() and name not in begin]
        yield from [*begin, *inside][:MOST_SHOWN]

    def _paths(self) -> list[str]:
        """Return the project's files, searched once."""
        if self._files is None:
            self._files = []
            for folder, below, names in os.walk(self._directory):
                below[:] = sorted(name for name in below if name not in SKIPPED and not name.startswith("."))
                self._files += [os.path.relpath(Path(folder, name), self._directory) for name in sorted(names)]
                if len(self._files) > MOST_FILES:
                    break
        return self._files

    def _complete(self, key: str) -> None:
        options = self._completions
        match key:
            case "down":
                options.action_cursor_down()
            case "up":
                options.action_cursor_up()
            case "tab" if options.highlighted is not None:
                chosen = str(options.get_option_at_index(options.highlighted).prompt)
                row, column = self.cursor_location
                start = (row, column - len(self._word()))
                self.replace(f"{chosen} ", start, (row, column))
                options.display = False
            case _:
                options.display = False
