"""Widgets for the parts of a session; model and tool text reaches the terminal only through `plain`."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from textual import events
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from bridle.core import parts
from bridle.core.states import CallState, Done, Failed, Refused, Running, Waiting
from bridle.surfaces.shared.call_summary import telling
from bridle.surfaces.shared.limit_levels import used_words
from bridle.surfaces.shared.safe_text import line, plain
from bridle.surfaces.tui.streamed_text import WordsView
from bridle.surfaces.tui.widgets import Button, Static
from bridle.wire.projection import compaction_text

MOST_LIVE_LINES = 8
MOST_LINES = 400
MOST_NAMED = 6
MARKS = {"running": "●", "done": "✓", "failed": "✗", "refused": "⊘", "asking": "?", "waiting": "◌", "pending": "·"}


WELCOME = """\
Every turn here is counted, recorded, and ends well.
{model}
Ask something; @ names a file or an agent, / a command. f1 shows all keys.
Files that a turn changes come back with f8. Nothing leaves this machine but requests to the model and to your tools."""


DIFF_STYLES = {"+": "$success", "-": "$error", "@": "$accent"}


def diff_text(words: str) -> Content:
    """Return a diff with colors."""
    lines = plain(words).split("\n")
    return Content("\n").join(Content.styled(each, DIFF_STYLES.get(each[:1], "")) for each in lines)


class Folded(Vertical):
    """A line that expands and collapses its body, by click or enter."""

    can_focus = True

    def __init__(self, head: str, body: str = "", *, classes: str) -> None:
        self._head = Static(head, classes="head")
        self._body = Static(body, classes="body")
        super().__init__(self._head, self._body, classes=f"folded {classes}")
        self._body.display = False
        self.opened = False

    def show(self, head: str, body: str) -> None:
        self._head.update(head)
        self._body.update(body)
        self._body.display = self.opened and bool(body)

    def toggle(self) -> None:
        self.opened = not self.opened
        self._body.display = self.opened

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.toggle()

    def on_key(self, event: events.Key) -> None:
        if event.key in ("enter", "space"):
            event.stop()
            self.toggle()


class ThoughtView(Folded):
    """The model's reasoning, collapsed."""

    def __init__(self, words: str = "") -> None:
        super().__init__("thought", words, classes="thought")
        self.words = words

    def grow(self, offset: int, words: str) -> None:
        self.words = self.words[:offset] + words
        self.show(f"thought, {len(self.words.split())} words", self.words)


class CallView(Folded):
    """A tool call with its state and output; a call with a subagent opens that instead of its output."""

    @dataclass
    class Opened(Message):
        """The subagent of a call was requested."""

        child: str

    def __init__(self, call: parts.Call) -> None:
        super().__init__("", classes="call")
        self.call = call
        self._live = ""
        self._began: float | None = None
        self.child = ""

    def toggle(self) -> None:
        if self.child:
            self.post_message(self.Opened(self.child))
        else:
            super().toggle()

    def on_mount(self) -> None:
        self.move(self.call.state, 0.0)

    def move(self, state: CallState, elapsed: float) -> None:
        """Show another state of the call."""
        if isinstance(state, (Running, Waiting)) and self._began is None:
            self._began = elapsed
        seconds = elapsed - self._began if self._began is not None else 0.0
        self.child = msgspec.structs.replace(self.call, state=state).child or self.child
        kind = _kind(state)
        self.remove_class(*MARKS)
        self.add_class(kind)
        took = f"  {seconds:.1f} s" if isinstance(state, (Done, Failed)) and seconds >= 0.1 else ""
        child = f"  → {self.child}" if self.child else ""
        why = f"  ({state.refusal.name})" if isinstance(state, Refused) else ""
        says = line(telling(self.call.arguments))[:160]
        head = f"{MARKS[kind]} {line(self.call.name)}  {says}{child}{why}{took}"
        output = getattr(state, "output", "") or self._live
        lines = output.splitlines()
        more = f"\n… {len(lines) - MOST_LINES} more lines" if len(lines) > MOST_LINES else ""
        self.opened = self.opened or isinstance(state, Failed)
        self.show(head, "\n".join(lines[:MOST_LINES]) + more)

    def hears(self, size: int) -> None:
        """Show the size of the arguments while they are streamed."""
        self.show(f"{MARKS[_kind(self.call.state)]} {line(self.call.name)}  {size} characters", "")

    def grow(self, offset: int, words: str) -> None:
        """Show the last lines of output while the call runs."""
        self._live = self._live[:offset] + words
        tail = "\n".join(self._live.splitlines()[-MOST_LIVE_LINES:])
        self._body.update(tail)
        self._body.display = bool(tail)


def _kind(state: CallState) -> str:
    kind = str(state.__struct_config__.tag)
    return kind if kind in MARKS else "pending"


class SentinelView(Vertical):
    """The reason why a turn ended early, and a button to continue."""

    class Continued(Message):
        """The continue button was pressed."""

    def __init__(self, part: parts.Sentinel) -> None:
        button = Button("Continue (ctrl+t)", id="continue", variant="warning", compact=True)
        super().__init__(Static(f"■ {part.text}"), button, classes="sentinel")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.post_message(self.Continued())


def notice(words: str) -> Static:
    """Return a notice for the reader."""
    return Static(f"! {words}", classes="notice")


def _changed(part: parts.Patch) -> str:
    named = ", ".join(f"{each.path} +{each.added} -{each.removed}" for each in part.files[:MOST_NAMED])
    rest = len(part.files) - MOST_NAMED + part.more
    return named + (f" and {rest} more" if rest > 0 else "")


def view_of(part: parts.Part) -> Widget | None:
    """Return the widget for a part; None if the part is not shown."""
    match part:
        case parts.Prompt():
            return Static(part.text.strip() or "(nothing)", classes="prompt")
        case parts.Text():
            return WordsView(part.text)
        case parts.Reasoning():
            return ThoughtView(part.text)
        case parts.StepStart():
            closing = f" · closing: {part.closing}" if part.closing else ""
            return Static(f"step {part.number}/{part.cap}{closing}", classes="step")
        case parts.Call():
            return CallView(part)
        case parts.Patch() if part.files:
            return Static(f"~ {_changed(part)}", classes="patch")
        case parts.Notice() if part.about != "closing":
            return notice(part.text)
        case parts.Compaction() if part.outcome != "open" and part.cause != "prune":
            return notice(compaction_text(part))
        case parts.Sentinel():
            return SentinelView(part)
        case parts.TurnFinish():
            return Static(" · ".join([part.reason, *used_words(part.spent)]), classes="end")
    return None
