"""`TranscriptView`: a session's scrolling transcript."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from bridle.core import events
from bridle.core.fold import fold
from bridle.core.ids import is_below
from bridle.core.live import is_awaited
from bridle.core.parts import Call, Part, Prompt, Reasoning, StepFinish, Text
from bridle.core.session import Session
from bridle.core.states import Open
from bridle.core.undo import has_mark
from bridle.runtime.sessions import Branch
from bridle.surfaces.tui.rows import FoldedView, RowsView
from bridle.surfaces.tui.streamed_text import WordsView
from bridle.surfaces.tui.views import CallView, InterruptedView, PartContext, ThoughtView, notice, view_of
from bridle.surfaces.tui.welcome import WelcomeView
from bridle.surfaces.tui.widgets import Button

AT_ONCE = 60
"""Number of parts shown at first, and added each time older ones are requested."""
INTERRUPTED = "interrupted"
MOST_VIEWS = 300
"""More views of a running session put the oldest aside, so that the cost of each new part does not grow."""


class TranscriptView(VerticalScroll):
    """A scrolling view that folds a session's events and shows its parts."""

    class Undone(Message):
        """An undo or redo happened: the session must be loaded again."""

    def __init__(self) -> None:
        super().__init__(id="transcript")
        self.session = Session()
        self.directory = ""
        """The project's directory, to which paths are relative."""
        self._views: dict[str, Widget] = {}
        self._older: list[Part] = []

    def compose(self) -> ComposeResult:
        button = Button("", id="older", compact=True)
        button.display = False
        yield button

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        """Take the new size. Textual makes the whole layout a second time if only the content has grown."""
        grown = self.outer_size == size and self.virtual_size.width == virtual_size.width
        return super()._size_updated(size, virtual_size, container_size, layout and not grown)

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
        context = PartContext(self.session, self.directory)
        views = {part.id: view for part in parts if _shown(part) and (view := view_of(part, context)) is not None}
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
        if view is None and delta.kind != "output" and is_awaited(self.session, delta):
            view = _streamed(delta, self.directory)
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
                    retry = notice(f"{last.error} (again in {wait:.0f} s)")
                    await self._mount(f"retry.{id}.{len(state.tries)}", retry)

    async def _put_aside(self) -> None:
        """Remove the oldest views of a long running session, to be shown on request."""
        if len(self._views) <= MOST_VIEWS or not self.is_anchored or self._anchor_released:
            return
        gone = list(self._views)[: len(self._views) - MOST_VIEWS + AT_ONCE]
        views = [self._views.pop(id) for id in gone]
        self._older += [self.session.parts[id] for id in gone if id in self.session.parts]
        await self.remove_children(views)
        self._offer_older()

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
        if isinstance(part, StepFinish):
            await self._put_aside()
        if isinstance(part, Prompt):
            await self._remove("welcome")
            self.anchor()

    async def _drop_unfinished(self, request: str) -> None:
        """Remove what was streamed and is not part of the reply: calls that changed, text of a process that died."""
        streamed = [id for id, view in self._views.items() if isinstance(view, (CallView, WordsView, ThoughtView))]
        for id in streamed:
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

    async def show_interrupted(self, interrupted: bool) -> None:
        """Show or remove the card of an interrupted turn."""
        if interrupted and INTERRUPTED not in self._views:
            await self._mount(INTERRUPTED, InterruptedView())
        elif not interrupted:
            await self._remove(INTERRUPTED)

    def show_branches(self, branches: Iterable[Branch]) -> None:
        """Show the state of subagents in the calls that started them."""
        by_child = {each.session: each for each in branches}
        for view in self.calls():
            if view.child in by_child:
                view.shows(by_child[view.child])

    def mark(self, sought: str) -> None:
        """Mark a text wherever it is shown."""
        for view in self._views.values():
            if isinstance(view, (RowsView, WordsView)) and view.sought != sought:
                view.sought = sought
                view.refresh()

    async def reveal(self, id: str, sought: str = "") -> None:
        """Scroll to a part, show older parts up to it, and open it if its sought text is folded."""
        while id not in self._views and self._older:
            await self.show_older()
        if (view := self._views.get(id)) is None:
            return
        self.mark(sought)
        if isinstance(view, FoldedView) and not view.opened and not view.shows_text(sought):
            view.unfold()
        self.release_anchor()
        view.scroll_visible(top=True, animate=False)

    def calls(self) -> list[CallView]:
        """Return the visible calls."""
        return [view for view in self._views.values() if isinstance(view, CallView)]


def _streamed(delta: events.PartDelta, directory: str) -> Widget:
    """Return an empty widget for a part whose first piece has come."""
    if delta.kind == "arguments":
        return CallView(Call(delta.part, delta.call, "", ""), directory)
    return ThoughtView() if delta.kind == "reasoning" else WordsView()


def _shown(part: Part) -> bool:
    return not isinstance(part, (Text, Reasoning)) or bool(part.text.strip())
