"""`SessionActions`: base of `BridleApp`, with actions on a session besides prompting (undo, redo, fork, diff, …)."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from textual import work

from bridle.core.limits import counted
from bridle.core.parts import Text
from bridle.core.permission import Approvals
from bridle.errors import BridleError, ConfigError
from bridle.surfaces.shared.safe_text import line, plain
from bridle.surfaces.tui.asks import Confirm
from bridle.surfaces.tui.dialogs import DialogText, TypedLine
from bridle.surfaces.tui.external import edited, run_in_terminal
from bridle.surfaces.tui.tree import BackgroundsScreen, Subagents, TreeWatch
from bridle.surfaces.tui.views import CallView, diff_text
from bridle.surfaces.tui.widgets import PlainApp

if TYPE_CHECKING:
    from bridle.runtime.project import Backend
    from bridle.surfaces.tui.chat import Chat
    from bridle.surfaces.tui.commands import CommandTable
    from bridle.surfaces.tui.host import TerminalHost
    from bridle.surfaces.tui.kept import Kept
    from bridle.surfaces.tui.keys import KeyMap

App = TypeVar("App", bound="SessionActions")
LONGEST_TITLE = 100
NEXT: dict[Approvals, Approvals] = {"rules": "ask", "ask": "auto", "auto": "rules"}


def telling(work: Callable[[App, str], Awaitable[str | None]]) -> Callable[[App, str], Awaitable[None]]:
    """Make an action of a function: show the text that it returns, or its error, as a notification."""

    @wraps(work)
    async def action(app: App, argument: str = "") -> None:
        try:
            said = await work(app, argument)
        except BridleError as error:
            app.notify(line(str(error)), severity="error", timeout=20)
            return
        if said is not None:
            app.notify(said)

    return action


def on_session(work: Callable[[App, str], Awaitable[str | None]]) -> Callable[[App, str], Awaitable[None]]:
    """Run an action only on a session that exists. See `telling`."""

    @wraps(work)
    async def begun(app: App, argument: str) -> str | None:
        if not app.chat.begun:
            return "there is no session yet: it begins with the first prompt"
        return await work(app, argument)

    return telling(begun)


class SessionActions(PlainApp):
    """App actions on the current session. Each takes the argument of its slash command."""

    runtime: Backend
    chat: Chat
    host: TerminalHost
    kept: Kept
    keymap: KeyMap
    commands: CommandTable

    async def perform(self, name: str, argument: str = "") -> None:
        """Run a command or an action of a key by its name."""
        await getattr(self, f"action_{name}")(argument)

    async def action_new(self, argument: str = "") -> None:
        await self.chat.fresh()
        self.chat.editor.focus()

    @on_session
    async def action_extend(self, argument: str) -> str:
        return await self.chat.extend()

    @on_session
    async def action_undo(self, argument: str) -> str:
        return await self.undo_to(argument)

    async def undo_to(self, to: str) -> str:
        """Undo turns from one on, by default the last; its prompt goes above the draft."""
        undone = await self.runtime.undo(self.chat.id_of_session, to=to)
        self.chat.editor.put_back(undone.prompt, self.chat.editor.prompts.pasted(undone.prompt))
        told = "".join(f"\n{line(words)}" for words in undone.unknown[:3])
        return f"undone: turn {undone.turn}, {counted(len(undone.files), 'file')}{told}"

    @on_session
    async def action_redo(self, argument: str) -> str:
        done = await self.runtime.redo(self.chat.id_of_session)
        return f"redone: turn {done.turn}, {counted(len(done.files), 'file')}"

    @on_session
    async def action_fork(self, argument: str) -> str:
        forked = await self.runtime.fork(self.chat.id_of_session)
        await self.chat.open(forked)
        return f"you are now in the new session {forked}"

    @on_session
    async def action_diff(self, argument: str) -> None:
        shown = await self.runtime.diff(self.chat.id_of_session)
        await self.push_screen(DialogText("Files changed by this session", diff_text(shown or "none")))

    @on_session
    async def action_compact(self, argument: str) -> None:
        await self.runtime.compact(self.chat.id_of_session)

    @on_session
    async def action_rename(self, argument: str) -> None:
        if argument:
            await self.rename(self.chat.id_of_session, argument)
        else:
            info = self.chat.transcript.session.info
            self._rename_typed(self.chat.id_of_session, info.title if info is not None else "")

    @work
    async def _rename_typed(self, session: str, title: str) -> None:
        words = await self.push_screen_wait(TypedLine("Title of this session", title))
        if words is not None:
            await self.rename(session, words)

    async def rename(self, session: str, title: str) -> None:
        """Give a session a title, and show an error."""
        words = " ".join(title.split())[:LONGEST_TITLE]
        try:
            await self.runtime.rename(session, words)
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)

    @on_session
    async def action_delete(self, argument: str) -> None:
        self._delete_confirmed(self.chat.id_of_session)

    @work
    async def _delete_confirmed(self, session: str) -> None:
        if await self.delete(session):
            await self.chat.fresh()

    async def delete(self, session: str) -> bool:
        """Delete a session after the person's yes; return whether it was deleted. Runs in a worker."""
        about = "It is deleted permanently, with its subagents, stored outputs and snapshots."
        if not await self.push_screen_wait(Confirm(f"Delete session {session}?", about, self.chat.editor)):
            return False
        try:
            gone = await self.runtime.delete(session)
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)
            return False
        self.notify(f"deleted: {counted(len(gone), 'session')}")
        return True

    @on_session
    async def action_export(self, argument: str) -> str:
        path = Path(argument or f"{self.chat.id_of_session}.json").expanduser()
        self.host.write(path, await self.runtime.export(self.chat.id_of_session))
        return f"written: {path}"

    @on_session
    async def action_report(self, argument: str) -> str:
        path = Path(argument or "report.html").expanduser()
        self.host.write(path, (await self.host.report(self.runtime, self.chat.id_of_session)).encode())
        return f"written: {path}"

    async def action_copy(self, argument: str = "") -> None:
        """Copy the last text of the model to the clipboard through the terminal."""
        parts = reversed(self.chat.transcript.session.parts.values())
        words = next((part.text for part in parts if isinstance(part, Text) and part.text.strip()), "")
        self.copy_to_clipboard(plain(words))
        self.notify(f"copied: {len(words)} characters" if words else "there is no answer yet")

    @telling
    async def action_editor(self, argument: str) -> None:
        editor = self.chat.editor
        editor.put(await edited(self, argument or editor.text, Path(self.runtime.directory)), shell=editor.shell)

    @telling
    async def action_approvals(self, argument: str) -> str | None:
        """Switch to the next way to approve calls, or to the named one; clients of a server skip `auto`."""
        given = argument.strip().lower()
        if given and given not in NEXT:
            raise ConfigError(f"approvals can be {', '.join(NEXT)}, not {given}")
        now = self.chat.approvals
        wanted = next(mode for mode in NEXT if mode == given) if given else NEXT[now]
        try:
            await self.chat.approve(wanted)
        except ConfigError:
            if given or wanted != "auto":
                raise
            await self.chat.approve("rules")
        return None

    async def action_subagents(self, argument: str = "") -> None:
        await self.push_screen(Subagents(self.runtime, self.chat.transcript.session), self._watched)

    async def _watched(self, session: str | None) -> None:
        if session:
            await self.push_screen(TreeWatch(self.runtime, session))

    async def on_call_view_opened(self, event: CallView.Opened) -> None:
        await self._watched(event.child)

    async def action_background(self, argument: str = "") -> None:
        await self.push_screen(BackgroundsScreen(self.runtime, self.chat.id_of_session))

    async def in_terminal(self, *words: str) -> int:
        """Run a command of Bridle that asks on the terminal; return its status. Raises `ConfigError`."""
        command = self.host.command(words)
        wait = 'status=$?; printf "\\nPress enter to go back to Bridle. "; read -r _; exit $status'
        return await run_in_terminal(self, ["/bin/sh", "-c", f"{shlex.join(command)}; {wait}"])
