"""The terminal application: keys, pickers and themes around the session screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from textual import events
from textual.actions import SkipAction
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from bridle.core.parts import Prompt
from bridle.runtime.project import Backend
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.actions import SessionActions
from bridle.surfaces.tui.chat import Chat
from bridle.surfaces.tui.dialogs import Choice, DialogText, Picker
from bridle.surfaces.tui.keys import HELP
from bridle.surfaces.tui.themes import CONTRAST, THEMES

MOST_LISTED = 300


class BridleApp(SessionActions):
    """The application; f1 shows all keys."""

    CSS_PATH = "bridle.tcss"
    TITLE = "bridle"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("f1", "keys", "Help"),
        ("f2", "sessions", "Sessions"),
        ("f3", "models", "Model"),
        ("f4", "agents", "Agent"),
        ("f5", "extend", "Extend"),
        # Priority, because the editor binds these two keys itself.
        Binding("f6", "subagents", "Subagents", priority=True, show=False),
        Binding("f7", "backgrounds", "Background", priority=True, show=False),
        ("ctrl+t", "go_on", "Continue"),
        Binding("ctrl+o", "copy_answer", "Copy", show=False),
        Binding("ctrl+r", "asks", "Answer", show=False),
        ("f8", "undo", "Undo"),
        Binding("f9", "redo", "Redo", show=False),
        # Priority, because an open dialog would otherwise swallow the key.
        Binding("ctrl+c", "interrupt", "Stop", priority=True, show=False),
    ]

    def __init__(self, runtime: Backend, session: str | None) -> None:
        super().__init__()
        self.runtime = runtime
        self.chat = Chat(runtime, session)
        self._leaving = False
        self._focused = True

    async def on_mount(self) -> None:
        self.register_theme(CONTRAST)
        self.theme = THEMES[self.runtime.preferences().theme]
        await self.push_screen(self.chat)
        self.watch(self.chat, "headline", lambda words: self.send(2, words))
        for notice in self.runtime.new_notices():
            self.notify(line(notice), severity="warning", timeout=15)
        for other in await self.runtime.interrupted():
            if other != self.chat.id_of_session:
                self.notify(f"a turn was interrupted here: press f2 and choose {other}", timeout=15)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        yield SystemCommand("New session", "Start a new session", self.chat.fresh)
        yield SystemCommand("Fork", "Start a new session with the same history", self.action_fork)
        yield SystemCommand("Compact", "Make the context smaller", self.action_compact)
        yield SystemCommand("Diff", "Show the files changed by this session", self.action_diff)
        yield SystemCommand("Undo", "Undo the last turn and its file changes", self.action_undo)
        yield SystemCommand("Redo", "Revert the last undo", self.action_redo)
        yield SystemCommand("Copy", "Copy the last answer to the clipboard", self.action_copy_answer)
        yield SystemCommand("Subagents", "Show the subagents of this session", self.action_subagents)
        yield SystemCommand("Background", "Show background commands", self.action_backgrounds)
        yield SystemCommand("Resume", "Resume an interrupted turn", self.action_resume)
        yield SystemCommand("Contrast theme", "Use colors with high contrast", self.action_contrast)

    def action_contrast(self) -> None:
        self.theme = CONTRAST.name

    async def action_interrupt(self) -> None:
        """Abort the turn and keep its record; exit when pressed twice or when idle. Selected text is copied instead."""
        if self.screen.get_selected_text() or getattr(self.focused, "selected_text", ""):
            raise SkipAction
        if self.chat.begun and self.chat.busy and not self._leaving:
            self._leaving = True
            await self.runtime.abort(self.chat.id_of_session, detail="from the terminal")
            self.notify("the turn was aborted; press ctrl+c again to quit")
        else:
            self.exit()

    async def action_asks(self) -> None:
        await self.chat.ask_again()

    async def action_go_on(self) -> None:
        await self.chat.go_on()

    async def action_resume(self) -> None:
        await self.runtime.resume(self.chat.id_of_session)

    async def action_keys(self) -> None:
        await self.push_screen(DialogText("Keys", HELP))

    async def action_sessions(self) -> None:
        found = [row for row in await self.runtime.sessions() if not row.info.parent]
        rows = [row for row in found[:MOST_LISTED] if await self.runtime.is_begun(row)]
        choices = [Choice(row.info.id, await self._label(row.info.id, row.info.title)) for row in rows]
        await self.push_screen(Picker("Sessions", choices), self._opened)

    async def _label(self, id: str, title: str) -> str:
        if not title:
            parts = (await self.runtime.load(id)).parts.values()
            title = next((part.text for part in parts if isinstance(part, Prompt)), "(empty)")
        return f"{line(title)[:60]}  {id}"

    async def _opened(self, session: str | None) -> None:
        if session:
            await self.chat.open(session)

    async def action_agents(self) -> None:
        rows = [row for row in self.runtime.agents() if row.agent.mode != "subagent" and not row.agent.hidden]
        choices = [Choice(row.agent.name, f"{row.agent.name}  {line(row.agent.description)[:70]}") for row in rows]
        await self.push_screen(Picker("Agents", choices), lambda name: self._chose(agent=name))

    async def action_models(self) -> None:
        given = self.runtime.preferences()
        mine = [self.chat.model or "", given.model, *given.models]
        found = await self.runtime.reachable_models()
        choices = [Choice(ref, ref) for ref in dict.fromkeys([*mine, *found]) if ref]
        await self.push_screen(Picker("Models", choices), lambda ref: self._chose(model=ref))

    def _chose(self, *, agent: str | None = None, model: str | None = None) -> None:
        self.chat.agent = agent or self.chat.agent
        self.chat.model = model or self.chat.model
        self.chat.show_state()

    def on_chat_told(self, event: Chat.Told) -> None:
        """Notify through the terminal, if unfocused, that a turn has ended, needs a person or nears a limit."""
        self._leaving = self._leaving and not event.rests
        if not self._focused:
            self.bell()
            self.send(9, line(event.words)[:120])

    def on_app_blur(self, _: events.AppBlur) -> None:
        self._focused = False

    def on_app_focus(self, _: events.AppFocus) -> None:
        self._focused = True
