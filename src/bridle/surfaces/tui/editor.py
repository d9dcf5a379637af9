"""`Editor`, the prompt editor: several lines, history, pasting, completion, and a mode for shell commands."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from textual import events, work
from textual.binding import Binding, BindingType
from textual.message import Message

from bridle.errors import ConfigError
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.completion import Completion, Completions
from bridle.surfaces.tui.history import PromptHistory
from bridle.surfaces.tui.keys import KeyMap
from bridle.surfaces.tui.paste import Pasted, clipboard_image
from bridle.surfaces.tui.widgets import TextArea

ACTIONS = ("send", "newline", "next_agent", "approvals", "stop", "paste")
MENTIONED = re.compile(r'(?:^|\s)(@(?:"[^"]*|\S*))$')
Find = Callable[[str], Awaitable[list[Completion]]]


class Editor(TextArea):
    """A text area that sends prompts. Its keys are those of the settings."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
    ]

    @dataclass
    class Sent(Message):
        """A prompt, a slash command, or in shell mode a shell command was submitted."""

        text: str
        pasted: Pasted
        shell: bool = False
        queue: bool = False

    @dataclass
    class Pressed(Message):
        """A key was pressed that does not edit the text."""

        what: Literal["stop", "next_agent", "approvals", "earlier"]

    @dataclass
    class Paged(Message):
        """The transcript is to be scrolled by pages."""

        by: int

    class ModeChanged(Message):
        """Shell mode began or ended."""

    def __init__(
        self, completions: Completions, find: Find, keys: KeyMap, history: PromptHistory, project: Path
    ) -> None:
        super().__init__(id="editor", soft_wrap=True, show_line_numbers=False, compact=True)
        self._completions = completions
        self._find = find
        self._keys = keys.by_key(ACTIONS)
        self.prompts = history
        self._project = project
        self.shell = False
        """Whether the text is a shell command."""
        self.pending = False
        """Whether prompts wait, which the up arrow shows first."""
        self._pasted = Pasted()
        self._kept_text: str | None = None
        """The text that opened no list, since the list was closed or the text came from the history."""

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        try:
            self.insert(self._pasted.mark_of(event.text))
        except ConfigError as error:
            self.notify(line(str(error)), severity="error")

    async def paste_anything(self) -> None:
        """Paste an image from the system clipboard, or else the text copied in this application."""
        try:
            image = await clipboard_image(self._project)
        except (ConfigError, OSError) as error:
            self.notify(line(str(error)), severity="error")
            return
        if image is not None:
            self.insert(self._pasted.add(image))
        else:
            self.action_paste()

    async def _on_key(self, event: events.Key) -> None:
        if await self._handled(event, self._keys.get(event.key, "")):
            event.prevent_default()
            event.stop()
        else:
            await super()._on_key(event)

    async def _handled(self, event: events.Key, name: str) -> bool:
        """Handle a key that is not plain typing; return whether it was one."""
        # Keys may come faster than the list follows: one for an earlier word is only good to be closed.
        follows = self._completions.word == self._word() or name == "stop"
        if self._completions.display and follows and self._complete(event.key, name):
            return True
        match name:
            case "send":
                self._send_or_break()
            case "newline":
                self.insert("\n")
            case "paste":
                await self.paste_anything()
            case "next_agent" | "approvals":
                self.post_message(self.Pressed("next_agent" if name == "next_agent" else "approvals"))
            case "stop" if self.shell:
                self.set_shell(shell=False)
            case "stop":
                self.post_message(self.Pressed("stop"))
            case _ if event.character == "!" and not self.text and not self.shell:
                self.set_shell(shell=True)
            case _ if event.key == "backspace" and not self.text and self.shell:
                self.set_shell(shell=False)
            case _:
                return event.key in ("up", "down") and self._recalls(event.key)
        return True

    def set_shell(self, *, shell: bool) -> None:
        """Enter or leave shell mode."""
        self.shell = shell
        self.set_class(shell, "shell")
        self.post_message(self.ModeChanged())

    def _send_or_break(self) -> None:
        """Send; a backslash before the cursor makes a new line instead."""
        row, column = self.cursor_location
        if column and self.document.get_line(row)[column - 1] == "\\" and not self.selected_text:
            self.replace("\n", (row, column - 1), (row, column))
        else:
            self.send()

    def send(self, *, queue: bool = False) -> None:
        """Submit the text, for a turn of its own with `queue`."""
        words = self.text.strip()
        if not words:
            return
        self.prompts.add(f"!{words}" if self.shell else self.text, self._pasted)
        self.post_message(self.Sent(words, self._pasted, self.shell, queue))
        self.set_shell(shell=False)
        self.clear_draft()

    def clear_draft(self) -> None:
        """Empty the editor, also of what was pasted."""
        self.text = ""
        self._pasted = Pasted()
        self._completions.offer([])

    def put(self, words: str, pasted: Pasted | None = None, *, shell: bool = False) -> None:
        """Show a text for editing, with the cursor at its end; one that begins with ! was a shell command."""
        self._pasted = pasted or self.prompts.pasted(words)
        self.set_shell(shell=shell or words.startswith("!"))
        self.text = self._kept_text = words.removeprefix("!") if self.shell and not shell else words
        self.move_cursor(self.document.end)
        self.focus()

    def put_back(self, words: str, pasted: Pasted, *, shell: bool = False) -> None:
        """Restore a prompt that could not be sent, above what was typed since."""
        self.put(f"{words}\n{self.text}" if self.text.strip() else words, pasted, shell=shell)

    def _recalls(self, key: str) -> bool:
        """Browse the history if the cursor cannot move further."""
        row, up = self.cursor_location[0], key == "up"
        if row != (0 if up else self.document.line_count - 1) or self._completions.display:
            return False
        if up and self.pending and not self.text:
            self.post_message(self.Pressed("earlier"))
            return True
        found = self.prompts.step(-1 if up else 1, f"!{self.text}" if self.shell else self.text)
        if found is None:
            return False
        self.put(found)
        return True

    def action_page(self, by: int) -> None:
        self.post_message(self.Paged(by))

    def on_text_area_changed(self) -> None:
        word = "" if self.shell or self.text == self._kept_text else self._word()
        self._kept_text = None if self.text != self._kept_text else self._kept_text
        if word:
            self._look_up(word)
        else:
            self._completions.offer([])

    @work(exclusive=True, group="complete")
    async def _look_up(self, word: str) -> None:
        found = await self._find(word)
        if self._word() == word and self.text != self._kept_text:
            self._completions.offer(found, word)

    def _word(self) -> str:
        """Return the command or mention that ends at the cursor; a command counts only at the very beginning."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        if row == 0 and before.startswith("/") and " " not in before:
            return before
        found = MENTIONED.search(before)
        return found[1] if found is not None else ""

    def _complete(self, key: str, name: str) -> bool:
        """Handle a key while the list is open; return whether it was one for the list."""
        options, chosen = self._completions, self._completions.chosen
        if name == "stop":
            self._kept_text = self.text
            options.offer([])
        elif key == "down":
            options.action_cursor_down()
        elif key == "up":
            options.action_cursor_up()
        elif name in ("next_agent", "send") and chosen is not None:
            self._take(chosen, sends=name == "send")
        else:
            return False
        return True

    def _take(self, chosen: Completion, *, sends: bool) -> None:
        row, column = self.cursor_location
        whole = chosen.sends and sends
        self.replace(chosen.word if whole else f"{chosen.word} ", (row, column - len(self._word())), (row, column))
        self._completions.offer([])
        if whole:
            self.send()
