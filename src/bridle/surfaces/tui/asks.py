"""Modal screens for decisions: a permission, a question, a command to confirm.

Typing never decides anything: it goes into the draft of the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Literal, NamedTuple, TypeVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.timer import Timer
from textual.widget import Widget

from bridle.core.permission import DOOM_LOOP
from bridle.core.states import Ask
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.editor import Editor
from bridle.surfaces.tui.views import ChangeView
from bridle.surfaces.tui.widgets import Button, Dialog, OptionList, Static, TextInput

Decision = TypeVar("Decision")
FRAME = 2
HINT = "←→ choose, enter answers, ↑↓ scroll, tab: other fields, esc: later (/asks)"
EARLY_HINT = "A moment: what you type now goes into your draft and answers nothing."
DRAFT_HINT = "Typing goes into your draft. ←→ choose, enter answers, esc: later"


class Deliberate(Dialog[Decision]):
    """A decision that needs a pause in typing and then enter on a focused button.

    Nothing can be chosen until no key was typed for `QUIET_SECONDS`. Letters go into the draft of the prompt and take
    the focus from the buttons. While there is a draft, only an arrow key focuses a button.
    """

    QUIET_SECONDS: ClassVar[float] = 0.7
    SCOPED_CSS = False
    CSS = """
    Deliberate { align: center bottom; background: transparent; }
    Deliberate .dialog { width: 100%; max-width: 100%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "choose(-1)", show=False),
        Binding("right", "choose(1)", show=False),
        *(Binding(key, f"read('scroll_{key}')", show=False) for key in ("up", "down", "home", "end")),
        # Priority, because the list of a question binds these keys itself.
        Binding("pageup", "read('scroll_page_up')", show=False, priority=True),
        Binding("pagedown", "read('scroll_page_down')", show=False, priority=True),
        Binding("tab", "onward", show=False),
    ]

    def __init__(self, draft: Editor, about: Iterable[Widget], answers: Iterable[Widget]) -> None:
        """`about` describes the decision; the first focusable widget of `answers` gets the focus."""
        super().__init__()
        self._draft = draft
        # Held, since the terminal may change its size before they are mounted.
        self._about = VerticalScroll(*about, classes="about", id="about")
        self._answers = Vertical(*answers, id="answers")
        self._hint = Static("", id="hint", classes="hint")
        self._waiting: Timer | None = None
        self.ready = False
        """Whether the pause in typing was long enough for a choice."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog asks"):
            yield self._about
            yield self._answers
            yield self._hint

    def on_mount(self) -> None:
        self._about.focus()
        self.on_resize()
        self._wait()

    def on_resize(self) -> None:
        """Reserve the height of the answers; the description gets the rest and scrolls."""
        height = self.app.size.height
        listed = self.query(OptionList)
        for each in listed:
            each.styles.max_height = max(1, height // 3)
        fields = len(self.query(TextInput)) + len(self.query(Horizontal))
        taken = FRAME + 1 + fields + sum(max(1, min(each.option_count, height // 3)) for each in listed)
        self._about.styles.max_height = max(1, height - taken)

    def _wait(self) -> None:
        """Disable the answers until typing pauses."""
        self.ready = False
        self._answers.disabled = True
        self._hint.update(DRAFT_HINT if self._has_draft else EARLY_HINT)
        if self._waiting is not None:
            self._waiting.stop()
        self._waiting = self.set_timer(self.QUIET_SECONDS, self._rest)

    def _rest(self) -> None:
        self._answers.disabled = False
        self.ready = True
        if not self._has_draft:
            # At once, unlike `focus()`: a key that follows the hint must find the focus there.
            self.set_focus(self._choices()[0])
            self._hint.update(HINT)

    @property
    def _has_draft(self) -> bool:
        return bool(self._draft.text.strip())

    def _choices(self) -> list[Widget]:
        found = self.query("#answers Button, #answers OptionList, #answers Input").results(Widget)
        return [each for each in found if not isinstance(each, OptionList) or each.option_count]

    def on_key(self, event: events.Key) -> None:
        """Treat unhandled keys as typing into the draft."""
        if self._chosen_by_number(event.character or ""):
            pass
        elif event.is_printable and event.character:
            self._type(event.character)
        elif event.key == "backspace":
            self._draft.action_delete_left()
            self._type("")
        else:
            return
        event.stop()

    def _chosen_by_number(self, character: str) -> bool:
        """Highlight the choice of a question with this number; enter then gives it."""
        listed = next(iter(self.query(OptionList)), None)
        if listed is None or not character.isdecimal() or not self.ready or self._has_draft:
            return False
        if not 0 < int(character) <= listed.option_count:
            return False
        listed.focus()
        listed.highlighted = int(character) - 1
        return True

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self._type(event.text)

    def _type(self, words: str) -> None:
        self._draft.insert(words)
        self._about.focus()
        self._wait()

    def action_onward(self) -> None:
        """Focus the next field; a tab while a draft is being typed counts as typing."""
        if self._has_draft and self.focused is self._about:
            self._wait()
        else:
            self.focus_next()

    def action_choose(self, by: int) -> None:
        if not self.ready:
            return
        choices = self._choices()
        at = choices.index(self.focused) if self.focused in choices else -1 if by > 0 else 0
        buttons = [each for each in choices if isinstance(each, Button)] or choices
        buttons[(at + by) % len(buttons)].focus()

    def action_read(self, way: str) -> None:
        """Scroll the description."""
        getattr(self._about, way)(animate=False)


class BashCall(msgspec.Struct):
    """The part of a `bash` call that a person decides about."""

    command: str


class AskReply(NamedTuple):
    """A person's answer to an ask."""

    choice: Literal["once", "always", "reject"]
    feedback: str = ""


class AskScreen(Deliberate[AskReply | None]):
    """An ask with its details: the exact command, paths and diff."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "later", "Later", show=False)]

    def __init__(self, ask: Ask, draft: Editor) -> None:
        super().__init__(draft, _about(ask), _answers(ask))
        self.ask = ask
        self._replied = False
        self.over = False
        """Whether it needs no answer anymore: it was answered elsewhere, or the turn has ended."""

    def _reply(self, reply: AskReply | None) -> None:
        """Close the screen once: the turn may end while a key press is being handled."""
        if not self._replied:
            self._replied = True
            self.dismiss(reply)

    def withdraw(self) -> None:
        """Close unanswered, now or as soon as no other screen covers this one."""
        self.over = True
        if self.app.screen is self:
            self._reply(None)

    def on_screen_resume(self) -> None:
        if self.over:
            self._reply(None)

    def action_later(self) -> None:
        self._reply(None)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        said = event.button.id
        self._reply(AskReply("once" if said == "once" else "always" if said == "always" else "reject"))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._reply(AskReply("once", self.ask.choices[event.option_index]))

    def on_input_submitted(self, event: TextInput.Submitted) -> None:
        words = event.value.strip()
        if words:
            self._reply(AskReply("once" if self.ask.kind == "question" else "reject", words))


def _about(ask: Ask) -> Iterator[Widget]:
    who = f"  (subagent {ask.session})" if ask.session else ""
    yield Static(f"? {ask.text}{who}", classes="title")
    accesses = "\n".join(f"{access.permission}: {access.pattern}" for access in ask.accesses)
    command = f"$ {words}" if (words := _command(ask)) else ""
    # The access of a question is its text, which stands above.
    plain_words = command or ask.detail or (accesses if ask.kind != "question" else "")
    if ask.diff or plain_words:
        yield ChangeView(ask.diff) if ask.diff else Static(plain_words)
    wider = ", ".join(access.always for access in ask.accesses if access.always)
    if wider and not _is_loop(ask):
        yield Static(f"Always lets pass: {line(wider)}", classes="wider")


def _command(ask: Ask) -> str:
    """Return the shell command that is asked about; empty for other asks."""
    if all(access.permission != "bash" for access in ask.accesses):
        return ""
    try:
        return msgspec.json.decode(ask.detail, type=BashCall).command
    except msgspec.MsgspecError:
        # Another tool than bash may need this permission.
        return ""


def _is_loop(ask: Ask) -> bool:
    return any(access.permission == DOOM_LOOP for access in ask.accesses)


def _answers(ask: Ask) -> Iterator[Widget]:
    if ask.kind == "question":
        yield OptionList(*ask.choices, id="choices")
        yield TextInput(placeholder="or your own words (enter)", id="words", compact=True)
        return
    # A loop that is allowed for good is never stopped again.
    always = [] if _is_loop(ask) else [Button("Always", id="always", compact=True)]
    yield Horizontal(
        Button("Once", id="once", variant="success", compact=True),
        *always,
        Button("Reject", id="reject", variant="error", compact=True),
        classes="buttons",
    )
    yield TextInput(placeholder="why not: the model reads it and goes on (enter)", id="words", compact=True)


class Confirm(Deliberate[bool]):
    """A yes-or-no decision."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(False)", "No", show=False)]

    def __init__(self, title: str, about: str, draft: Editor) -> None:
        yes = Button("Yes", id="yes", variant="success", compact=True)
        no = Button("No", id="no", variant="error", compact=True)
        super().__init__(
            draft, [Static(title, classes="title"), Static(about)], [Horizontal(yes, no, classes="buttons")]
        )

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")
