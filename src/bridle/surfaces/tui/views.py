"""Widgets for single parts of a session: prompts, tool calls, reasoning, notices, cards and endings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import NamedTuple

import msgspec
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from bridle.core import parts
from bridle.core.limits import LIMIT_OF_REASON, Reason
from bridle.core.retry import UNAUTHORIZED
from bridle.core.session import Session
from bridle.core.states import Broken, CallState, Done, Failed, Running, Waiting
from bridle.runtime.sessions import Branch
from bridle.surfaces.shared.limit_levels import reason_words, used_words
from bridle.surfaces.shared.safe_text import line, plain
from bridle.surfaces.tui.call_rows import Seen, call_rows, is_block
from bridle.surfaces.tui.diff_rows import change_rows
from bridle.surfaces.tui.rows import FoldedView, Piece, RowsView, TextRow, body, row
from bridle.surfaces.tui.streamed_text import WordsView
from bridle.surfaces.tui.widgets import Button, key_of
from bridle.wire.projection import compaction_text

WIDE = 120
"""Columns of the terminal from which diffs are shown side by side, and a sidebar is shown."""
MOST_LINES = 400
MOST_NAMED = 6
PROMPT_LINES = 30
THOUGHT_WORDS = 12
THOUGHT_BEGINNING = 400
"""Characters that surely contain these words."""
TAGS = ("running", "done", "failed", "refused", "asking", "waiting", "pending")
DIFF_STYLES = {"+": "$success", "-": "$error", "@": "$accent"}
NOTICES = {
    "closing": "",
    "cut": "The answer was cut off at the model's output limit; it was asked to go on.",
    "output": "The answer did not have the requested form; the model was asked again.",
}
"""Notices with texts for the model, in words for people; an empty one is not shown."""
QUIET_ENDINGS: dict[Reason, str] = {"answered": "success", "synthesized": "success", "aborted": "muted"}


class PartContext(NamedTuple):
    """The session of a part, and its directory, to which paths are relative."""

    session: Session
    directory: str = ""


NO_CONTEXT = PartContext(Session())


def diff_text(words: str) -> Content:
    """Return a diff with colors."""
    lines = plain(words).split("\n")
    return Content("\n").join(Content.styled(each, DIFF_STYLES.get(each[:1], "")) for each in lines)


class ChangeView(RowsView):
    """A change that a person decides about, as the transcript shows changes."""

    def __init__(self, diff: str) -> None:
        super().__init__(classes="change")
        self._diff = diff

    def rows(self, width: int) -> Iterable[TextRow]:
        return change_rows(self._diff, width, wide=self.app.size.width >= WIDE)


class ThoughtView(FoldedView):
    """The model's reasoning, collapsed to its beginning."""

    def __init__(self, words: str = "") -> None:
        super().__init__(classes="thought")
        self.words = words

    def grow(self, offset: int, words: str) -> None:
        grown = self.opened or len(self.words) < THOUGHT_BEGINNING
        self.words = self.words[:offset] + words
        if grown:
            self.redraw_soon()

    def rows(self, width: int) -> Iterable[TextRow]:
        if self.opened:
            return [row("▾ Thought", "italic muted"), *body(self.words.strip(), "muted", indent=2)]
        words = self.words[: 2 * THOUGHT_BEGINNING]
        first = words.split(maxsplit=THOUGHT_WORDS)[:THOUGHT_WORDS]
        more = " …" if len(words.split(maxsplit=THOUGHT_WORDS)) > THOUGHT_WORDS else ""
        return [row(f"▸ Thought  {' '.join(first)}{more}", "italic muted", hang=2)]


class CallView(FoldedView):
    """A tool call with its state and output; a call with a subagent opens that instead of its output."""

    @dataclass
    class Opened(Message):
        """The subagent of a call was requested."""

        child: str

    def __init__(self, call: parts.Call, directory: str = "") -> None:
        super().__init__(classes="call")
        self.call = call
        self.state: CallState = call.state
        self.child = ""
        self.branch: Branch | None = None
        """The state of its subagent."""
        self._directory = directory
        self._live = ""
        self._written = 0
        self._began: float | None = None
        self._seconds = 0.0
        self._wide = False
        self.move(call.state, 0.0)

    def toggle(self) -> None:
        if self.child:
            self.post_message(self.Opened(self.child))
        else:
            super().toggle()

    def rows(self, width: int) -> Iterable[TextRow]:
        self._wide = self.app.size.width >= WIDE
        return call_rows(self.seen, width)

    @property
    def seen(self) -> Seen:
        """The call as it is shown now."""
        return Seen(
            self.call,
            self.state,
            live=self._live,
            seconds=self._seconds,
            opened=self.opened,
            directory=self._directory,
            wide=self._wide,
            written=self._written,
            branch=self.branch,
        )

    def move(self, state: CallState, elapsed: float) -> None:
        """Show another state of the call."""
        if isinstance(state, (Running, Waiting)) and self._began is None:
            self._began = elapsed
        if isinstance(state, (Done, Failed)) and self._began is not None:
            self._seconds = elapsed - self._began
        self.state = state
        self._written = 0
        self.child = msgspec.structs.replace(self.call, state=state).child or self.child
        tag = str(state.__struct_config__.tag)
        self.remove_class(*TAGS, "block", "inline", update=False)
        self.add_class(tag if tag in TAGS else "pending", "block" if is_block(self.call, state) else "inline")
        self.redraw()

    def hears(self, size: int) -> None:
        """Show the size of the arguments while they are streamed."""
        self._written = size
        self.redraw_soon()

    def grow(self, offset: int, words: str) -> None:
        """Show the last lines of output while the call runs."""
        self._live = self._live[:offset] + words
        self.redraw_soon()

    def shows(self, branch: Branch) -> None:
        """Show the state of its subagent."""
        if branch != self.branch:
            self.branch = branch
            self.redraw()


class Card(Vertical):
    """A card about the end of a turn, with buttons."""

    class Continued(Message):
        """The button to continue was pressed."""

    @dataclass
    class LogIn(Message):
        """The button to store another key of a provider was pressed."""

        provider: str

    class Ended(Message):
        """The button to end an interrupted turn was pressed."""

    def __init__(self, rows: Iterable[TextRow], *buttons: Button, classes: str) -> None:
        super().__init__(RowsView(rows), Horizontal(*buttons, classes="buttons"), classes=f"card {classes}")

    def on_mount(self) -> None:
        self.query_one("#continue", Button).label = f"Continue ({key_of(self, 'proceed')})"

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.post_message(self.Ended() if event.button.id == "end" else self.Continued())


class SentinelView(Card):
    """The reason why a turn ended early, and a button to continue."""

    def __init__(self, part: parts.Sentinel, provider: str = "") -> None:
        """`provider` has refused the key."""
        color = "limit" if part.reason in LIMIT_OF_REASON or part.reason == "tree_budget" else part.reason
        button = Button("Continue", id="continue", variant="warning", compact=True)
        login = [Button(f"Log in to {provider}", id="login", variant="success", compact=True)] if provider else []
        super().__init__(
            [TextRow((("■ ", "warning"), (part.text, "bold text")), hang=2)],
            *login,
            button,
            classes=f"sentinel {color}",
        )
        self._provider = provider

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "login":
            event.stop()
            self.post_message(self.LogIn(self._provider))
        else:
            super().on_button_pressed(event)


class InterruptedView(Card):
    """An interrupted turn, with buttons to continue it and to end it."""

    def __init__(self) -> None:
        title = TextRow((("■ ", "warning"), ("This turn was interrupted", "bold text")))
        about = row("  No process works on it. Nothing is lost: it goes on where it stopped.", "muted", hang=2)
        buttons = (
            Button("Continue", id="continue", variant="warning", compact=True),
            Button("End the turn", id="end", compact=True),
        )
        super().__init__([title, about], *buttons, classes="interrupted")


def notice(words: str) -> RowsView:
    """Return a notice for the reader."""
    lines = words.strip().split("\n")
    first = TextRow((("! ", "warning"), (lines[0], "warning")), hang=2)
    return RowsView([first, *body("\n".join(lines[1:]), "warning", indent=2)[: len(lines) - 1]], classes="notice")


def _prompt(part: parts.Prompt) -> RowsView:
    if part.shell:
        return RowsView([TextRow((("! ", "bold primary"), (part.shell, "bold text")), hang=2)], classes="prompt")
    lines = part.text.strip().split("\n") or [""]
    rows = [row(each) for each in lines[:PROMPT_LINES]] if part.text.strip() else [row("(nothing)", "muted")]
    if len(lines) > PROMPT_LINES:
        rows.append(row(f"… {len(lines) - PROMPT_LINES} more lines", "muted"))
    if part.files:
        files = [(f" {line(each.path)} ", "primary@raised") for each in part.files]
        rows.append(TextRow(tuple(piece for each in files for piece in (each, (" ", "text")))))
    return RowsView(rows, classes="prompt")


def _patch(part: parts.Patch, context: PartContext) -> RowsView | None:
    """Return the files that calls changed besides those whose changes they show themselves."""
    shown = _shown_files(part, context.session)
    files = [each for each in part.files if each.path not in shown]
    if not files and not part.more:
        return None
    pieces: list[Piece] = [("± ", "muted"), ("Changed", "muted")]
    for each in files[:MOST_NAMED]:
        pieces += [("  ", "muted"), (line(each.path), "text")]
        pieces += [(f" +{each.added}", "success")] if each.added else []
        pieces += [(f" -{each.removed}", "error")] if each.removed else []
        pieces += [(f" {each.how}", "muted")] if each.how != "changed" else []
    rest = len(files) - MOST_NAMED + part.more
    pieces += [(f"  and {rest} more", "muted")] if rest > 0 else []
    return RowsView([TextRow(tuple(pieces), hang=2)], classes="patch")


def _shown_files(part: parts.Patch, session: Session) -> set[str]:
    """Return the files whose diffs the calls of the patch's step show."""
    found: set[str] = set()
    before = dropwhile(lambda other: other.id != part.id, reversed(session.parts.values()))
    for other in takewhile(lambda other: not isinstance(other, parts.StepStart), before):
        if isinstance(other, parts.Call) and isinstance(other.state, Done) and other.state.diff:
            found.update(other.state.files)
    return found


def _words(part: parts.Text, context: PartContext) -> WordsView | None:
    """Return a text; one of Bridle leaves out the line that the card below it says."""
    if part.by == "model":
        return WordsView(part.text)
    words = part.text
    first, _, rest = words.partition("\n")
    cards = (each.text for each in context.session.parts.values() if isinstance(each, parts.Sentinel))
    words = rest if any(first == f"{text}." for text in cards) else words
    return WordsView(words, quiet=True) if words.strip() else None


def _end(part: parts.TurnFinish) -> RowsView:
    ink = QUIET_ENDINGS.get(part.reason, "error" if part.reason == "error" else "warning")
    words = " · ".join([reason_words(part.reason), *used_words(part.spent)])
    return RowsView([TextRow((("■ ", ink), (words, "muted")), hang=2)], classes="end")


def _notice(part: parts.Notice, context: PartContext) -> RowsView | None:
    if part.about == "agent":
        return RowsView([row(f"◇ The agent is now {_agent(part, context.session)}", "muted")], classes="step")
    words = NOTICES.get(part.about, part.text)
    return notice(words) if words else None


def _agent(part: parts.Notice, session: Session) -> str:
    """Return the agent of the turn of a notice."""
    found = ""
    for other in session.parts.values():
        if isinstance(other, parts.TurnStart):
            found = other.agent
        if other.id == part.id:
            break
    return line(found)


def _refusing(part: parts.Sentinel, session: Session) -> str:
    """Return the provider that refused the key, which ended the turn; empty for other endings."""
    before = dropwhile(lambda other: other.id != part.id, reversed(session.parts.values()))
    asked = next((other for other in before if isinstance(other, parts.Request)), None)
    if part.reason != "error" or asked is None:
        return ""
    refused = isinstance(asked.state, Broken) and asked.state.status == UNAUTHORIZED
    return line(asked.model.partition("/")[0]) if refused and "/" in asked.model else ""


def view_of(part: parts.Part, context: PartContext = NO_CONTEXT) -> Widget | None:
    """Return the widget for a part; None if the part is not shown."""
    match part:
        case parts.Prompt():
            return _prompt(part)
        case parts.Text():
            return _words(part, context)
        case parts.Reasoning():
            return ThoughtView(part.text)
        case parts.StepStart() if part.closing:
            words = reason_words(part.closing)
            return RowsView(
                [row(f"◇ {words[:1].upper()}{words[1:]}: the last step answers without tools", "muted")], classes="step"
            )
        case parts.Call():
            return CallView(part, context.directory)
        case parts.Patch() if part.files:
            return _patch(part, context)
        case parts.Notice():
            return _notice(part, context)
        case parts.Compaction() if part.outcome != "open" and part.cause != "prune":
            words = compaction_text(part)
            return RowsView([row(f"◇ {words[:1].upper()}{words[1:]}", "muted", hang=2)], classes="step")
        case parts.Sentinel():
            return SentinelView(part, _refusing(part, context.session))
        case parts.TurnFinish():
            return _end(part)
    return None
