"""Modal dialogs: a list to pick from, and a text to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from bridle.surfaces.tui.widgets import OptionList, Static, TextInput

MOST_SHOWN = 200


class Choice(NamedTuple):
    """An entry of a picker: its id and its label."""

    id: str
    label: str


class Picker(ModalScreen[str | None]):
    """A list to pick from, filtered by typing."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Close")]

    def __init__(self, title: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._title = title
        self._choices = choices

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._title, classes="title")
            yield TextInput(placeholder="type to narrow", id="narrow")
            yield OptionList(id="choices")

    def on_mount(self) -> None:
        self._fill("")
        self.query_one("#narrow").focus()

    def _fill(self, words: str) -> None:
        found = [choice for choice in self._choices if words.casefold() in choice.label.casefold()][:MOST_SHOWN]
        options = self.query_one("#choices", OptionList)
        options.show((choice.label for choice in found), (choice.id for choice in found))

    def on_input_changed(self, event: TextInput.Changed) -> None:
        self._fill(event.value)

    def on_input_submitted(self) -> None:
        options = self.query_one("#choices", OptionList)
        if options.highlighted is not None:
            self.dismiss(options.get_option_at_index(options.highlighted).id)

    def on_key(self, event: events.Key) -> None:
        options = self.query_one("#choices", OptionList)
        if event.key == "down":
            options.action_cursor_down()
        elif event.key == "up":
            options.action_cursor_up()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


class DialogText(ModalScreen[None]):
    """A text to read: help, or a diff."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,enter", "dismiss", "Close")]

    def __init__(self, title: str, words: str | Content) -> None:
        super().__init__()
        self._title = title
        self._words = words

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall"):
            yield Static(self._title, classes="title")
            with VerticalScroll(classes="about"):
                yield Static(self._words)
