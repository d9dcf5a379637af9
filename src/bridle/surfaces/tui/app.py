"""`BridleApp`: the terminal application around the session screen, with keys, themes and notifications."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar

from rich.console import RenderableType
from textual import events, work
from textual.actions import SkipAction
from textual.app import SystemCommand
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.theme import ThemeProvider

from bridle.errors import BridleError
from bridle.runtime.project import Backend
from bridle.runtime.sessions import MOST_LOOKED_AT
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.chat import Chat, Setting
from bridle.surfaces.tui.commands import OURS, CommandTable
from bridle.surfaces.tui.history import PromptHistory
from bridle.surfaces.tui.host import NOTHING_CHOSEN, PlainHost, StartChoices, TerminalHost
from bridle.surfaces.tui.kept import Kept
from bridle.surfaces.tui.key_actions import KeyActions
from bridle.surfaces.tui.keys import KeyMap, mend_sequences
from bridle.surfaces.tui.widgets import Palette

UNBOUND = "f35"
"""A key that no keyboard has, for what has no key."""
FOOTER = {"help": "Help", "sessions": "Sessions", "models": "Model", "agents": "Agent", "proceed": "Continue"}
KEYED = (*(command.name for command in OURS), "leader", "queue", "read")
BOUND = ("interrupt", "palette", "quit", "search")
"""Actions with a binding of their own, whose keys also come from the settings."""


def _binding(name: str) -> Binding:
    """Return the binding of an action, whose keys come from the settings.

    It has priority, because the editor and dialogs bind some of these keys themselves.
    """
    return Binding(UNBOUND, f"press('{name}')", FOOTER.get(name, ""), show=name in FOOTER, id=name, priority=True)


class BridleApp(KeyActions, inherit_bindings=False):
    """The application; f1 shows all keys."""

    CSS_PATH = "bridle.tcss"
    TITLE = "bridle"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(_binding(name) for name in KEYED),
        Binding("ctrl+c", "interrupt", "Stop", priority=True, show=False, id="interrupt"),
        Binding("ctrl+p", "command_palette", "palette", priority=True, show=False, id="palette"),
        Binding("ctrl+q", "quit", priority=True, show=False, id="quit"),
    ]

    def __init__(
        self,
        runtime: Backend,
        session: str | None,
        host: TerminalHost | None = None,
        choices: StartChoices = NOTHING_CHOSEN,
    ) -> None:
        super().__init__()
        mend_sequences()
        self.runtime = runtime
        self.host = host or PlainHost()
        self.kept = Kept(self.host.folder)
        self.keymap = KeyMap(self.host.keys)
        self.commands = CommandTable()
        self.chat = Chat(
            runtime, session, Setting(self.keymap, self.commands, PromptHistory(self.host.folder), choices)
        )
        self.set_keymap({name: ",".join(self.keymap.direct(name)) or UNBOUND for name in (*KEYED, *BOUND)})
        self._leaving = False
        self._focused = True

    async def on_mount(self) -> None:
        self.begin_theme(self.runtime.preferences().theme, self.host.folder)
        await self.push_screen(self.chat)
        self.watch(self.chat, "headline", lambda words: self.send(2, words))
        self._tell_notices()
        for other in await self.runtime.interrupted(most=MOST_LOOKED_AT):
            if other != self.chat.id_of_session:
                self.notify(
                    f"a turn was interrupted here: {self.keymap.hint('sessions')} and choose {other}", timeout=15
                )

    def _tell_notices(self) -> None:
        self.commands.learn(self.runtime.preferences().commands)
        self._learn_commands(self.runtime)
        for notice in self.runtime.new_notices():
            self.notify(line(notice), severity="warning", timeout=15)

    @work
    async def _learn_commands(self, runtime: Backend) -> None:
        try:
            found = await runtime.slash_commands()
        except BridleError as error:
            self.notify(line(str(error)), severity="error")
            return
        self.commands.learn(runtime.preferences().commands, found)

    def pop_screen(self) -> AwaitComplete:
        """Close the screen on top; the session stays, also if a key closes Textual's own screens twice."""
        return AwaitComplete() if self.screen is self.chat else super().pop_screen()

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        # Before the widgets go: what still comes would be shown in one that is not there anymore.
        for screen in self.screen_stack:
            self.workers.cancel_group(screen, "follow")
        super().exit(result, return_code, message)

    def key_of(self, name: str) -> str:
        return self.keymap.hint(name)

    def tell_connection(self, here: bool) -> None:
        """Say that the server is away, or back."""
        words = "the server is back" if here else "the server is away: nothing is lost, and it is asked again"
        self.notify(words, severity="information" if here else "warning")

    def move_to(self, backend: Backend) -> None:
        self.runtime = self.chat.runtime = backend
        self._tell_notices()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        for command in OURS:
            # The palette's own commands have these names.
            if command.name not in ("help", "themes", "exit"):
                yield SystemCommand(command.name.capitalize(), command.words, partial(self.perform, command.name))

    async def action_themes(self, argument: str = "") -> None:
        if argument in self.available_themes:
            self.theme = argument
        else:
            self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for themes…"))

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys to an open dialog, and to the editor where they change its text."""
        if action != "press":
            return super().check_action(action, parameters)
        editor = self.chat.editor
        if self.screen is not self.chat or (parameters == ("exit",) and editor.has_focus and editor.text):
            return False
        return not (parameters == ("leader",) and editor.selected_text)

    async def action_interrupt(self) -> None:
        """Abort the turn and keep its record; then clear the draft; then exit. Selected text is copied instead."""
        if self.screen.get_selected_text() or getattr(self.focused, "selected_text", ""):
            raise SkipAction
        if self.chat.begun and self.chat.busy and not self._leaving:
            self._leaving = True
            self.chat.stop()
            self.notify(f"the turn was aborted; press {self.keymap.hint('interrupt')} again to quit")
        elif self.screen is self.chat and self.chat.editor.text.strip():
            self.chat.drop_draft()
        else:
            self.exit()

    async def action_exit(self, argument: str = "") -> None:
        self.exit()

    async def action_proceed(self, argument: str = "") -> None:
        await self.chat.go_on()

    async def on_prompting_commanded(self, event: Chat.Commanded) -> None:
        await self.perform(event.name, event.argument)

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
