"""Dialogs: what a person is asked, and what they may pick from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from bridle.core.states import Ask
from bridle.surfaces.plain import line
from bridle.surfaces.tui.views import diff_text
from bridle.surfaces.tui.widgets import Button, Input, OptionList, Static


class Reply(NamedTuple):
    """What a person said to an ask."""

    choice: Literal["once", "always", "reject"]
    feedback: str = ""


class AskScreen(ModalScreen[Reply | None]):
    """An ask with everything that it is about: the exact command, paths and diff."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("o", "say('once')", "Once"),
        ("a", "say('always')", "Always"),
        ("r", "say('reject')", "Reject"),
        ("escape", "later", "Later"),
    ]

    def __init__(self, ask: Ask) -> None:
        super().__init__()
        self.ask = ask

    def compose(self) -> ComposeResult:
        ask = self.ask
        with Vertical(classes="dialog"):
            who = f"  (subagent {ask.session})" if ask.session else ""
            yield Static(f"? {ask.text}{who}", classes="title")
            with VerticalScroll(classes="about"):
                yield Static(diff_text(ask.diff) if ask.diff else ask.detail or self._accesses())
            if ask.kind == "question":
                yield OptionList(*ask.choices, id="choices")
                yield Input(placeholder="or your own words", id="words")
            else:
                wider = ", ".join(access.always for access in ask.accesses if access.always)
                with Horizontal(classes="buttons"):
                    yield Button("Once (o)", id="once", variant="success")
                    yield Button(f"Always{f' {line(wider)}' if wider else ''} (a)", id="always")
                    yield Button("Reject (r)", id="reject", variant="error")
                yield Input(placeholder="why not: the model reads it and goes on (enter)", id="words")

    def _accesses(self) -> str:
        return "\n".join(f"{access.permission}: {access.pattern}" for access in self.ask.accesses)

    def on_mount(self) -> None:
        if self.ask.kind == "question":
            self.query_one("#choices" if self.ask.choices else "#words").focus()
        else:
            self.query_one("#once").focus()

    def action_say(self, choice: Literal["once", "always", "reject"]) -> None:
        if self.ask.kind != "question":
            self.dismiss(Reply(choice))

    def action_later(self) -> None:
        self.dismiss(None)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        said = event.button.id
        self.action_say("once" if said == "once" else "always" if said == "always" else "reject")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(Reply("once", self.ask.choices[event.option_index]))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        words = event.value.strip()
        if words:
            self.dismiss(Reply("once" if self.ask.kind == "question" else "reject", words))


class Confirm(ModalScreen[bool]):
    """Yes or no."""

    BINDINGS: ClassVar[list[BindingType]] = [("y", "dismiss(True)", "Yes"), ("n,escape", "dismiss(False)", "No")]

    def __init__(self, title: str, about: str) -> None:
        super().__init__()
        self._title = title
        self._about = about

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._title, classes="title")
            with VerticalScroll(classes="about"):
                yield Static(self._about)
            with Horizontal(classes="buttons"):
                yield Button("Yes (y)", id="yes", variant="success")
                yield Button("No (n)", id="no", variant="error")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")


class Choice(NamedTuple):
    """Something to pick: what it is, and what is shown of it."""

    id: str
    label: str


class Picker(ModalScreen[str | None]):
    """A list to pick from, narrowed by typing."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Close")]

    def __init__(self, title: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._title = title
        self._choices = choices

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._title, classes="title")
            yield Input(placeholder="type to narrow", id="narrow")
            yield OptionList(id="choices")

    def on_mount(self) -> None:
        self._fill("")
        self.query_one("#narrow").focus()

    def _fill(self, words: str) -> None:
        found = [choice for choice in self._choices if words.casefold() in choice.label.casefold()]
        options = self.query_one("#choices", OptionList)
        options.show((choice.label for choice in found[:200]), (choice.id for choice in found[:200]))
        if found:
            options.highlighted = 0

    def on_input_changed(self, event: Input.Changed) -> None:
        self._fill(event.value)

    def on_input_submitted(self) -> None:
        options = self.query_one("#choices", OptionList)
        if options.highlighted is not None:
            self.dismiss(options.get_option_at_index(options.highlighted).id)

    def on_key(self, event: object) -> None:
        key = getattr(event, "key", "")
        options = self.query_one("#choices", OptionList)
        if key == "down":
            options.action_cursor_down()
        elif key == "up":
            options.action_cursor_up()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


class Shown(ModalScreen[None]):
    """Something to read: help, or a diff."""

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
