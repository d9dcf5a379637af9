"""Textual widgets without markup: all their text passes `plain`, and brackets are shown literally.

No other module of the application imports these widgets from Textual.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Literal, TypeVar

import textual.widgets as theirs
from rich.text import Text
from textual.app import App, AutopilotCallbackType
from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.content import Content
from textual.filter import Monochrome, NoColor
from textual.geometry import Size
from textual.notifications import SeverityLevel
from textual.screen import ModalScreen
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets.button import ButtonVariant
from textual.widgets.option_list import Option

from bridle.surfaces.shared.safe_text import line, plain
from bridle.surfaces.tui.kept_theme import KeptTheme
from bridle.surfaces.tui.terminal_background import is_light_terminal
from bridle.surfaces.tui.themes import themes

Shown = str | Content
LEAST_WIDTH = 8
Result = TypeVar("Result")


def text(words: Shown) -> Content:
    """Return text as content without markup."""
    return Content(plain(words)) if isinstance(words, str) else words


class PlainApp(App[None]):
    """An application with the themes of Bridle alone, whose toasts and terminal messages are plain text."""

    def __init__(self) -> None:
        super().__init__()
        for name in list(self.available_themes):
            self.unregister_theme(name)
        for theme in themes():
            self.register_theme(theme)
        self.set_reactive(App.theme, "dark")
        self.stylesheet.set_variables(self.get_css_variables())
        if self.no_color:
            # Textual's own filter writes shades of gray.
            self._filters = [NoColor() if isinstance(each, Monochrome) else each for each in self._filters]
        self._automatic = "dark"

    async def run_async(
        self,
        *,
        headless: bool = False,
        inline: bool = False,
        inline_no_clear: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
        auto_pilot: AutopilotCallbackType | None = None,
    ) -> None:
        """Run in the terminal, whose colors are found out before."""
        few = self.no_color or self.console.color_system == "standard"
        self._automatic = "terminal" if few else "light" if is_light_terminal(os.environ) else "dark"
        await super().run_async(
            headless=headless,
            inline=inline,
            inline_no_clear=inline_no_clear,
            mouse=mouse,
            size=size,
            auto_pilot=auto_pilot,
        )

    def begin_theme(self, setting: str, folder: Path | None) -> None:
        """Show the theme that was picked over this setting, or that it means; and keep those picked from now on."""
        kept = KeptTheme(folder)
        wanted = kept.picked(setting) or setting
        self.theme = wanted if wanted in self.available_themes else self._automatic
        self.watch(self, "theme", lambda name: kept.keep(name, setting), init=False)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a toast. Widgets and screens call this too; their `markup` is ignored."""
        words = f"{title}: {message}" if title else message
        super().notify(plain(words), severity=severity, timeout=timeout, markup=False)

    def key_of(self, name: str) -> str:
        """Return the key of an action, or its command, as text for people."""
        return f"/{name}"

    @property
    def can_lend(self) -> bool:
        """Whether another program can have the terminal for a while."""
        return self._driver is not None and self._driver.can_suspend

    def send(self, command: int, words: str) -> None:
        """Send an operating system command (OSC) to the terminal: 2 sets its title, 9 shows a message."""
        if self._driver is not None and not self._driver.is_headless:
            self._driver.write(f"\x1b]{command};{line(words)}\x07")


def key_of(widget: Widget, name: str) -> str:
    """Return the key of an action in the application of a widget, or its command, as text for people."""
    return widget.app.key_of(name) if isinstance(widget.app, PlainApp) else f"/{name}"


class Dialog(ModalScreen[Result]):
    """A dialog that closes once: keys and clicks that come before it has gone close nothing below it."""

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        return super().dismiss(result) if self.is_active else AwaitComplete()


class Palette(CommandPalette):
    """Textual's list of commands: it closes once, and takes page keys also before it is laid out."""

    def dismiss(self, result: None = None) -> AwaitComplete:
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def _action_command_list(self, action: str) -> None:
        # A page key raises in Textual's list for as long as its lines are not known.
        with suppress(KeyError):
            super()._action_command_list(action)


class Static(theirs.Static):
    """A static text."""

    def __init__(self, words: Shown = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(text(words), id=id, classes=classes, markup=False)

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        super().update(text(content) if isinstance(content, str) else content, layout=layout)


class Button(theirs.Button):
    """A button with a plain-text label."""

    def __init__(
        self, label: str, *, id: str | None = None, variant: ButtonVariant = "default", compact: bool = False
    ) -> None:
        super().__init__(text(label), variant, id=id, compact=compact)

    def validate_label(self, label: object) -> Content:
        return label if isinstance(label, Content) else text(str(label))


class OptionList(theirs.OptionList):
    """A list to choose from."""

    def __init__(self, *choices: str, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self.show(choices)

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        # As in `Palette`.
        with suppress(KeyError):
            super()._move_page(direction)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        # Textual cannot wrap text to no width at all.
        return super().get_content_height(container, viewport, max(width, LEAST_WIDTH))

    def show(self, choices: Iterable[str], ids: Iterable[str | None] = repeat(None)) -> None:
        """Replace the choices, and highlight the first one."""
        self.clear_options()
        self.add_options([Option(text(each), id=id) for each, id in zip(choices, ids, strict=False)])
        self.highlighted = 0 if self.option_count else None


class Tree(theirs.Tree[str]):
    """A tree with plain-text labels of one line each."""

    def process_label(self, label: str | Text) -> Text:
        return Text(plain(str(label)).partition("\n")[0])


class TextInput(theirs.Input):
    """A one-line input."""

    def validate_value(self, value: str) -> str:
        return plain(value)


class TextArea(theirs.TextArea):
    """A multi-line input; pasted text is kept unchanged and shown as plain text."""

    def get_line(self, line_index: int) -> Text:
        return Text(plain(self.document.get_line(line_index)), end="", no_wrap=True)
