"""Screens for subagents and background commands: overview and details."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Footer
from textual.widgets.tree import TreeNode

from bridle.core.parts import Prompt
from bridle.core.session import Session
from bridle.core.status import status_of
from bridle.errors import BridleError
from bridle.runtime.project import Backend
from bridle.runtime.sessions import Branch
from bridle.surfaces.shared.call_summary import telling
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.session_screen import SessionScreen, TurnFacts
from bridle.surfaces.tui.widgets import Dialog, Static, Tree

LOOK_SECONDS = 0.5
MARKS = {"busy": "●", "retry": "↻", "paused": "?", "interrupted": "✗", "idle": "✓"}


class Subagents(Dialog[str | None]):
    """The tree of a session's subagents; returns the session of the picked one."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Close")]

    def __init__(self, runtime: Backend, session: Session) -> None:
        super().__init__()
        self._runtime = runtime
        self._session = session
        self._shown: tuple[Branch, ...] | None = None
        self._ended: dict[str, Branch] = {}

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall"):
            yield Static("Subagents", classes="title")
            tree = Tree("this session", id="tree")
            tree.show_root = False
            yield tree

    async def on_mount(self) -> None:
        self.query_one("#tree").focus()
        await self._look()
        self.set_interval(LOOK_SECONDS, self._look)

    async def _look(self) -> None:
        found = await self._runtime.subagents(self._session, self._ended)
        if found == self._shown:
            return
        self._shown = found
        tree = self.query_one("#tree", Tree)
        at = tree.cursor_line
        tree.clear()
        _fill(tree.root, found)
        tree.root.expand()
        tree.cursor_line = max(0, at)
        if not found:
            tree.root.add_leaf("there are none: a task call starts one")

    def on_tree_node_selected(self, event: Tree.NodeSelected[str]) -> None:
        if event.node.data:
            self.dismiss(event.node.data)


def _fill(node: TreeNode[str], found: Iterable[Branch]) -> None:
    for branch in found:
        steps = f"step {branch.steps}/{branch.cap}"
        words = f"{MARKS[branch.state]} {line(branch.agent)}  {line(telling(branch.arguments))[:60]}  {steps}"
        if branch.below:
            _fill(node.add(words, branch.session, expand=True), branch.below)
        else:
            node.add_leaf(words, branch.session)


class TreeWatch(SessionScreen):
    """The live transcript of a subagent, read-only; esc goes back."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss", "Back")]

    def __init__(self, runtime: Backend, session: str) -> None:
        super().__init__(runtime, session)
        self._head = Static("", id="head")

    def compose(self) -> ComposeResult:
        yield self._head
        yield from self.middle()
        yield self.gauge
        yield self.status_line
        yield Footer()

    async def on_mount(self) -> None:
        try:
            state = await self.runtime.load(self.id_of_session)
        except BridleError as error:
            self.app.notify(line(str(error)), severity="error")
            self.dismiss()
            return
        await self.transcript.open(state)
        await self.look()
        self.transcript.focus()
        self.follow(self.id_of_session, state.sequence)

    async def look(self) -> None:
        session = self.transcript.session
        status = status_of(session, held=await self.runtime.is_driven(self.id_of_session)).state
        start = session.turn.start if session.turn is not None else None
        prompts = (part.text for part in session.parts.values() if isinstance(part, Prompt))
        self._head.update(f"Subagent {line(start.agent) if start else ''}: {line(next(prompts, ''))}")
        self.look_at_subagents()
        agent, model = (start.agent, start.model) if start is not None else ("", "")
        self.show_facts(TurnFacts(session.elapsed, status, None, agent, model))


class BackgroundsScreen(Dialog[None]):
    """Background commands with their output, and a key that ends one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "dismiss", "Close"),
        ("down,tab", "turn(1)", "Next"),
        ("up,shift+tab", "turn(-1)", "Before"),
        ("e", "end", "End it"),
    ]

    def __init__(self, runtime: Backend, session: str) -> None:
        super().__init__()
        self._runtime = runtime
        self._session = session
        self._at = 0

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall"):
            yield Static("In the background", classes="title")
            yield Static("", id="commands")
            with VerticalScroll(classes="about"):
                yield Static("", id="printed")
            yield Static("up, down: another one   e: end it   esc: back", classes="hint")

    async def on_mount(self) -> None:
        await self._look()
        self.set_interval(LOOK_SECONDS, self._look)

    async def _look(self) -> None:
        found = await self._runtime.background_commands(self._session)
        self._at = min(self._at, max(0, len(found) - 1))
        rows: list[str] = []
        for place, each in enumerate(found):
            state = "runs" if each.status is None else f"ended with {each.status}"
            rows.append(f"{'▶' if place == self._at else ' '} {each.id}  {state}  {line(each.command)[:100]}")
        self.query_one("#commands", Static).update("\n".join(rows) or "nothing runs there")
        self.query_one("#printed", Static).update(found[self._at].tail if found else "")

    async def action_turn(self, by: int) -> None:
        self._at = max(0, self._at + by)
        await self._look()

    async def action_end(self) -> None:
        found = await self._runtime.background_commands(self._session)
        if found:
            await self._runtime.end_background_command(self._session, found[self._at].id)
            await self._look()
