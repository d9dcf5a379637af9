"""Modal dialogs: a list to pick from with fuzzy search, a line to type, and a text to read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual import events, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from bridle.surfaces.shared.fuzzy import ranked
from bridle.surfaces.tui.widgets import Dialog, OptionList, Static, TextInput

MOST_SHOWN = 200
MOVES = {"down": 1, "up": -1, "pagedown": 10, "pageup": -10}
Preview = Callable[[str], Awaitable[str]]


class Choice(NamedTuple):
    """An entry of a picker: its id and its label."""

    id: str
    label: str


class Picked(NamedTuple):
    """What was picked, and the name of another action on it; empty if it was chosen."""

    id: str
    action: str = ""


class Picker(Dialog[Picked | None]):
    """A list to pick from, narrowed by typing; other keys do something else with the highlighted entry."""

    SCOPED_CSS = False
    CSS = """
    Picker #preview { height: auto; max-height: 8; color: $text-muted; border-top: solid $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Close")]

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        *,
        also: Mapping[str, str] | None = None,
        preview: Preview | None = None,
        narrowed: str = "",
    ) -> None:
        """`also` names what other keys do; `preview` returns a text about an entry."""
        super().__init__()
        self._title = title
        self._choices = [*choices]
        self._also = also or {}
        self._preview = preview
        self._narrowed = narrowed

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._title, classes="title")
            yield TextInput(self._narrowed, placeholder="type to search", id="narrow")
            yield OptionList(id="choices")
            if self._preview is not None:
                yield Static("", id="preview")
            if self._also:
                yield Static(" · ".join(f"{key} {words}" for key, words in self._also.items()), classes="hint")

    def on_mount(self) -> None:
        self._fill(self._narrowed)
        self.query_one("#narrow").focus()

    def relabel(self, choice: Choice) -> None:
        """Give an entry a new label."""
        self._choices = [choice if each.id == choice.id else each for each in self._choices]
        options = self.query_one("#choices", OptionList)
        if any(option.id == choice.id for option in options.options):
            options.replace_option_prompt(choice.id, Content(choice.label))

    def _fill(self, words: str) -> None:
        found = ranked(words, self._choices, lambda choice: choice.label)[:MOST_SHOWN]
        options = self.query_one("#choices", OptionList)
        options.show((choice.label for choice in found), (choice.id for choice in found))

    @property
    def highlighted(self) -> str | None:
        """The id of the highlighted entry."""
        options = self.query_one("#choices", OptionList)
        return options.get_option_at_index(options.highlighted).id if options.highlighted is not None else None

    def on_input_changed(self, event: TextInput.Changed) -> None:
        self._fill(event.value)

    def on_input_submitted(self) -> None:
        self._choose("")

    def _choose(self, action: str) -> None:
        if self.highlighted is not None:
            self.dismiss(Picked(self.highlighted, action))

    def on_key(self, event: events.Key) -> None:
        options = self.query_one("#choices", OptionList)
        if event.key in self._also:
            self._choose(self._also[event.key])
        elif event.key in MOVES and options.option_count:
            at = (options.highlighted or 0) + MOVES[event.key]
            options.highlighted = max(0, min(options.option_count - 1, at))
        else:
            return
        event.stop()
        event.prevent_default()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if self._preview is not None and event.option.id is not None:
            self._show_preview(event.option.id)

    @work(exclusive=True, group="preview")
    async def _show_preview(self, id: str) -> None:
        if self._preview is not None:
            self.query_one("#preview", Static).update(await self._preview(id))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option.id is not None:
            self.dismiss(Picked(event.option.id))


class TypedLine(Dialog[str | None]):
    """A line to type."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Close")]

    def __init__(self, title: str, words: str = "") -> None:
        super().__init__()
        self._title = title
        self._words = words

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._title, classes="title")
            yield TextInput(self._words, id="line")

    def on_input_submitted(self, event: TextInput.Submitted) -> None:
        self.dismiss(event.value.strip() or None)


class DialogText(Dialog[None]):
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
