"""The transcript of a session and the screens that follow one: parts in order, the newest visible."""

from __future__ import annotations

from collections.abc import Iterable

from textual import work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from bridle.core import events
from bridle.core.fold import fold
from bridle.core.ids import is_below
from bridle.core.parts import Call, Part, Prompt, Reasoning, StepFinish, Text
from bridle.core.session import Session
from bridle.core.states import Open
from bridle.core.undo import has_mark
from bridle.errors import BridleError
from bridle.runtime.project import Backend
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.gauge import Gauge
from bridle.surfaces.tui.streamed_text import WordsView
from bridle.surfaces.tui.views import WELCOME, CallView, ThoughtView, notice, view_of
from bridle.surfaces.tui.widgets import Button, Static

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
            await self._mount("welcome", Static(WELCOME.format(model=words), classes="welcome"))

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

    async def take(self, event: events.Entry | events.Live) -> None:
        """Apply an entry or a live delta. Entries that were already applied are ignored."""
        if isinstance(event, events.PartDelta):
            await self._grow(event)
        elif event.sequence > self.session.sequence:
            if has_mark((event,)):
                self.post_message(self.Undone())
                return
            fold(self.session, event)
            for recorded in event.events:
                await self._recorded(recorded)

    async def _grow(self, delta: events.PartDelta) -> None:
        view = self._views.get(delta.part)
        # Output without a view belongs to a call that is older than the visible parts.
        if view is None and delta.kind != "output":
            view = _streamed(delta)
            await self._mount(delta.part, view)
        if isinstance(view, CallView) and delta.kind == "arguments":
            view.hears(delta.offset + len(delta.text))
        elif isinstance(view, (WordsView, ThoughtView, CallView)):
            view.grow(delta.offset, delta.text)

    async def _recorded(self, event: events.Recorded) -> None:
        match event:
            case events.PartPut(part):
                await self._put(part)
            case events.PartGrown(id, offset, words) if isinstance(
                view := self._views.get(id), (WordsView, ThoughtView)
            ):
                view.grow(offset, words)
            case events.CallMoved(id, state) if isinstance(view := self._views.get(id), CallView):
                view.move(state, self.session.elapsed)
            case events.PartRemoved(id):
                await self._remove(id)
            case events.RequestMoved(id, state):
                await self._drop_unfinished(id)
                if isinstance(state, Open) and state.tries:
                    last = state.tries[-1]
                    wait = max(0.0, last.next - self.session.elapsed)
                    retry = notice(f"↻ {last.error} (again in {wait:.0f} s)")
                    await self._mount(f"retry.{id}.{len(state.tries)}", retry)

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
            await self._remove("welcome")
            self.anchor()

    async def _drop_unfinished(self, request: str) -> None:
        """Remove calls that were streamed but are not part of the finished reply."""
        calls = [id for id, view in self._views.items() if isinstance(view, CallView)]
        for id in calls:
            if id not in self.session.parts and is_below(id, request):
                await self._remove(id)

    async def _remove(self, id: str) -> None:
        view = self._views.pop(id, None)
        if view is not None:
            await view.remove()

    async def _mount(self, id: str, view: Widget) -> None:
        view.add_class("part")
        self._views[id] = view
        await self.mount(view)

    def calls(self) -> list[CallView]:
        """Return the visible calls."""
        return [view for view in self._views.values() if isinstance(view, CallView)]


def _streamed(delta: events.PartDelta) -> Widget:
    """Return an empty widget for a part whose first piece has come."""
    if delta.kind == "arguments":
        return CallView(Call(delta.part, delta.call, "", ""))
    return ThoughtView() if delta.kind == "reasoning" else WordsView()


def _shown(part: Part) -> bool:
    return not isinstance(part, (Text, Reasoning)) or bool(part.text.strip())


class SessionScreen(Screen[None]):
    """A screen that follows one session: its transcript and its limits."""

    def __init__(self, runtime: Backend, session: str) -> None:
        super().__init__()
        self.runtime = runtime
        self.id_of_session = session
        self.transcript = TranscriptView()
        self.gauge = Gauge()

    @work(exclusive=True, group="follow")
    async def follow(self, session: str, after: int) -> None:
        """Show the events of a session after a sequence number."""
        try:
            async for event in self.runtime.follow(session, after):
                await self.transcript.take(event)
                if isinstance(event, events.Entry):
                    await self.look()
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)

    async def look(self) -> None:
        """Show the state of the session, which has changed."""
        raise NotImplementedError
