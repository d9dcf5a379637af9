"""The transcript of a session: parts in order, the newest visible, older ones on demand."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget

from bridle.core.events import (
    CallMoved,
    Entry,
    Live,
    PartDelta,
    PartGrown,
    PartPut,
    PartRemoved,
    Recorded,
    RequestMoved,
)
from bridle.core.fold import fold
from bridle.core.ids import is_below
from bridle.core.parts import Call, Part, Prompt, Reasoning, StepFinish, Text
from bridle.core.session import Session
from bridle.core.states import Open
from bridle.core.undo import has_mark
from bridle.surfaces.tui.streamed_text import WordsView
from bridle.surfaces.tui.views import CallView, NoticeView, ThoughtView, WelcomeView, view_of
from bridle.surfaces.tui.widgets import Button

AT_ONCE = 80
"""Number of parts shown at first, and added each time older ones are requested."""


class TranscriptView(VerticalScroll):
    """A scrolling view that folds a session's events and shows its parts."""

    class Undone(Message):
        """An undo or redo happened: the session must be loaded again."""

    def __init__(self) -> None:
        super().__init__(id="transcript")
        self.session = Session()
        self._views: dict[str, Widget] = {}
        self._older: list[Part] = []

    def compose(self) -> ComposeResult:
        button = Button("", id="older", compact=True)
        button.display = False
        yield button

    async def open(self, session: Session) -> None:
        """Show another session, scrolled to its end."""
        self.session = session
        self._views.clear()
        await self.remove_children(".part")
        parts = [part for part in session.parts.values() if _shown(part)]
        self._older = parts[:-AT_ONCE]
        await self.mount_all(self._made(parts[-AT_ONCE:]))
        self._offer_older()
        self.anchor()

    async def greet(self, words: str) -> None:
        """Show the welcome text if the transcript is empty."""
        if not self._views:
            await self._mount("welcome", WelcomeView(words))

    def _offer_older(self) -> None:
        button = self.query_one("#older", Button)
        button.label = f"▲ {len(self._older)} older parts"
        button.display = bool(self._older)

    async def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "older":
            event.stop()
            await self.show_older()

    async def show_older(self) -> None:
        """Show some older parts."""
        some, self._older = self._older[-AT_ONCE:], self._older[:-AT_ONCE]
        await self.mount_all(self._made(some), after=self.query_one("#older"))
        self._offer_older()

    def _made(self, parts: Iterable[Part]) -> list[Widget]:
        """Return the widgets of the parts that are shown."""
        views = {part.id: view for part in parts if _shown(part) and (view := view_of(part)) is not None}
        self._views |= views
        return [view.add_class("part") for view in views.values()]

    async def take(self, event: Entry | Live) -> None:
        """Apply an entry or a live delta. Entries that were already applied are ignored."""
        if isinstance(event, PartDelta):
            await self._grow(event)
        elif event.sequence > self.session.sequence:
            if has_mark((event,)):
                self.post_message(self.Undone())
                return
            fold(self.session, event)
            for recorded in event.events:
                await self._recorded(recorded)

    async def _grow(self, delta: PartDelta) -> None:
        view = self._views.get(delta.part)
        if delta.kind == "arguments":
            if view is None:
                view = CallView(Call(delta.part, delta.call, "", ""))
                await self._mount(delta.part, view)
            if isinstance(view, CallView):
                view.hears(delta.offset + len(delta.text))
            return
        if view is None and delta.kind == "output":
            # The call is older than the visible parts.
            return
        if view is None:
            view = ThoughtView() if delta.kind == "reasoning" else WordsView()
            await self._mount(delta.part, view)
        if isinstance(view, (WordsView, ThoughtView)):
            view.grow(delta.offset, delta.text)
        elif isinstance(view, CallView):
            view.print(delta.offset, delta.text)

    async def _recorded(self, event: Recorded) -> None:
        match event:
            case PartPut(part):
                await self._put(part)
            case PartGrown(id, offset, words):
                view = self._views.get(id)
                if isinstance(view, (WordsView, ThoughtView)):
                    view.grow(offset, words)
            case CallMoved(id, state):
                view = self._views.get(id)
                if isinstance(view, CallView):
                    view.move(state, self.session.elapsed)
            case PartRemoved(id):
                view = self._views.pop(id, None)
                if view is not None:
                    await view.remove()
            case RequestMoved(state=state):
                await self._drop_unfinished(event.id)
                tries = state.tries if isinstance(state, Open) else ()
                if not tries:
                    return
                wait = max(0.0, tries[-1].next - self.session.elapsed)
                view = NoticeView(f"↻ {tries[-1].error} (again in {wait:.0f} s)")
                await self._mount(f"retry.{event.id}.{len(tries)}", view)

    async def _put(self, part: Part) -> None:
        if isinstance(part, StepFinish) and self.session.turn is not None:
            for id in self.session.turn.reply:
                view, said = self._views.get(id), self.session.parts.get(id)
                if isinstance(view, WordsView) and isinstance(said, Text):
                    await view.settle(said.text)
        elif isinstance(part, Call) and isinstance(view := self._views.get(part.id), CallView):
            view.call = part
            view.move(part.state, self.session.elapsed)
        elif part.id not in self._views:
            await self.mount_all(self._made([part]))
        if isinstance(part, Prompt):
            welcome = self._views.pop("welcome", None)
            if welcome is not None:
                await welcome.remove()
            self.anchor()

    async def _drop_unfinished(self, request: str) -> None:
        """Remove calls that were streamed but are not part of the finished reply."""
        calls = [id for id, view in self._views.items() if isinstance(view, CallView)]
        for id in calls:
            if id not in self.session.parts and is_below(id, request):
                await self._views.pop(id).remove()

    async def _mount(self, id: str, view: Widget) -> None:
        view.add_class("part")
        self._views[id] = view
        await self.mount(view)

    def calls(self) -> list[CallView]:
        """Return the visible calls."""
        return [view for view in self._views.values() if isinstance(view, CallView)]


def _shown(part: Part) -> bool:
    return not isinstance(part, (Text, Reasoning)) or bool(part.text.strip())
