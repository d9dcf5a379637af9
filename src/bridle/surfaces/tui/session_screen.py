"""`SessionScreen`: base of the screens that follow one session, with its transcript, limits, facts and sidebar."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen

from bridle.core import events
from bridle.core.ledger import Account
from bridle.errors import BridleError
from bridle.runtime.project import Backend
from bridle.runtime.project_views import ServerRow
from bridle.runtime.sessions import Branch
from bridle.surfaces.shared.call_words import within
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.gauge import Gauge
from bridle.surfaces.tui.search import SearchLine, found
from bridle.surfaces.tui.sidebar import Sidebar, SidebarFacts
from bridle.surfaces.tui.status_line import StatusLine
from bridle.surfaces.tui.transcript import TranscriptView
from bridle.surfaces.tui.views import WIDE


class TurnFacts(NamedTuple):
    """What is known of the last turn besides the session: its time, state, tree, agent and model."""

    elapsed: float = 0.0
    status: str = ""
    tree: Account | None = None
    agent: str = ""
    model: str = ""


class SessionScreen(Screen[None]):
    """A screen that follows one session: its transcript and its limits."""

    # Priority, because the editor deletes a word with this key.
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+f", "search", priority=True, show=False, id="search")]

    def __init__(self, runtime: Backend, session: str) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]
        self.runtime = runtime
        self.id_of_session = session
        self.transcript = TranscriptView()
        self.transcript.directory = str(runtime.directory)
        self.gauge = Gauge()
        self.sidebar = Sidebar()
        self.status_line = StatusLine()
        self.search = SearchLine()
        self._place_found = 0
        self._branches: tuple[Branch, ...] = ()
        self._gone: dict[str, Branch] = {}
        self._servers: tuple[ServerRow, ...] = ()
        self._looked_at_servers = False
        self._branch = ""
        self._facts = TurnFacts()
        self._turns_seen = -1

    def middle(self) -> ComposeResult:
        """Compose the transcript with the sidebar and the line for searching."""
        self.search.display = False
        with Horizontal(id="middle"):
            yield self.transcript
            yield self.sidebar
        yield self.search

    def action_search(self) -> None:
        """Search the transcript."""
        self.search.open()

    async def on_search_line_sought(self, event: SearchLine.Sought) -> None:
        places = found(self.transcript.session, event.text)
        self._place_found = (self._place_found + event.step) % len(places) if places and event.step else 0
        self.transcript.mark(event.text)
        if places:
            await self.transcript.reveal(places[self._place_found], event.text)
        self.search.tell(self._place_found, len(places))

    def on_search_line_closed(self) -> None:
        self.transcript.mark("")
        editors = self.query("#editor")
        (editors.first() if editors else self.transcript).focus()

    def on_resize(self) -> None:
        self.gauge.has_sidebar = self.size.width >= WIDE
        self.gauge.redraw()
        if self.gauge.has_sidebar and not self._looked_at_servers:
            self._looked_at_servers = True
            self.look_at_servers()

    def show_facts(self, facts: TurnFacts) -> None:
        """Show the limits and facts of the session around its transcript."""
        session, self._facts = self.transcript.session, facts
        if (ended := session.turns if session.running is None else -2) != self._turns_seen:
            self._turns_seen = ended
            self.look_at_branch()
        self.gauge.show(session, facts.elapsed, facts.status, facts.tree)
        self.status_line.show(session, facts.agent, facts.model, self._place())
        self.sidebar.show(SidebarFacts(session, facts.elapsed, facts.tree, self._branches, self._servers))

    def _place(self) -> str:
        """Return the directory as people write it, with the branch."""
        place = within(str(self.runtime.directory), "", str(Path.home()))
        return f"{place}:{self._branch}" if self._branch else place

    @work(exclusive=True, group="branch")
    async def look_at_branch(self) -> None:
        """Find out which branch is checked out: commands of a turn may change it."""
        try:
            self._branch = (await self.runtime.branch()).name
        except BridleError as error:
            self.notify(line(str(error)), severity="error")
        self.show_facts(self._facts)

    def look_at_subagents(self) -> None:
        """Show the state of the session's subagents, if it has some."""
        if self.transcript.session.children:
            self._look_at_subagents()
        else:
            self._branches = ()

    @work(exclusive=True, group="subagents")
    async def _look_at_subagents(self) -> None:
        try:
            self._branches = await self.runtime.subagents(self.transcript.session, self._gone)
        except BridleError as error:
            self.notify(line(str(error)), severity="error")
            return
        self.transcript.show_branches(_all(self._branches))
        self.show_facts(self._facts)

    @work(exclusive=True, group="servers")
    async def look_at_servers(self) -> None:
        """Find out how the MCP servers are."""
        try:
            self._servers = tuple(await self.runtime.mcp_servers())
        except BridleError as error:
            self.notify(line(str(error)), severity="error")
        self.show_facts(self._facts)

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


def _all(branches: Iterable[Branch]) -> Iterable[Branch]:
    for each in branches:
        yield each
        yield from _all(each.below)
