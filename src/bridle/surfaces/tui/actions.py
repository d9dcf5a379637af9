"""Actions on a session besides prompting: undo, redo, copy, fork, diff, compact, watch subagents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING

from bridle.core.limits import counted
from bridle.core.parts import Text
from bridle.errors import BridleError
from bridle.surfaces.shared.safe_text import line, plain
from bridle.surfaces.tui.dialogs import DialogText
from bridle.surfaces.tui.tree import BackgroundsScreen, Subagents, TreeWatch
from bridle.surfaces.tui.views import CallView, diff_text
from bridle.surfaces.tui.widgets import PlainApp

if TYPE_CHECKING:
    from bridle.runtime.project import Backend
    from bridle.surfaces.tui.chat import Chat


def on_session(work: Callable[[SessionActions], Awaitable[str | None]]) -> Callable[[SessionActions], Awaitable[None]]:
    """Run an action only on a session that exists; show the text that it returns, or its error, as a notification."""

    @wraps(work)
    async def action(app: SessionActions) -> None:
        if not app.chat.begun:
            app.notify("there is no session yet: it begins with the first prompt")
            return
        try:
            said = await work(app)
        except BridleError as error:
            app.notify(line(str(error)), severity="error", timeout=20)
            return
        if said is not None:
            app.notify(said)

    return action


class SessionActions(PlainApp):
    """App actions on the current session."""

    runtime: Backend
    chat: Chat

    @on_session
    async def action_extend(self) -> str:
        return await self.chat.extend()

    @on_session
    async def action_undo(self) -> str:
        undone = await self.runtime.undo(self.chat.id_of_session)
        self.chat.editor.text = undone.prompt
        told = "".join(f"\n{line(words)}" for words in undone.unknown[:3])
        return f"undone: turn {undone.turn}, {counted(len(undone.files), 'file')}{told}"

    @on_session
    async def action_redo(self) -> str:
        done = await self.runtime.redo(self.chat.id_of_session)
        return f"redone: turn {done.turn}, {counted(len(done.files), 'file')}"

    @on_session
    async def action_fork(self) -> str:
        forked = await self.runtime.fork(self.chat.id_of_session)
        await self.chat.open(forked)
        return f"you are now in the new session {forked}"

    @on_session
    async def action_diff(self) -> None:
        shown = await self.runtime.diff(self.chat.id_of_session)
        await self.push_screen(DialogText("Files changed by this session", diff_text(shown or "none")))

    @on_session
    async def action_compact(self) -> None:
        await self.runtime.compact(self.chat.id_of_session)

    def action_copy_answer(self) -> None:
        """Copy the last text of the model to the clipboard through the terminal."""
        parts = reversed(self.chat.transcript.session.parts.values())
        words = next((part.text for part in parts if isinstance(part, Text) and part.text.strip()), "")
        self.copy_to_clipboard(plain(words))
        self.notify(f"copied: {len(words)} characters" if words else "there is no answer yet")

    async def action_subagents(self) -> None:
        if self.screen is self.chat:
            await self.push_screen(Subagents(self.runtime, self.chat.transcript.session), self._watched)

    async def _watched(self, session: str | None) -> None:
        if session:
            await self.push_screen(TreeWatch(self.runtime, session))

    async def on_call_view_opened(self, event: CallView.Opened) -> None:
        await self._watched(event.child)

    async def action_backgrounds(self) -> None:
        if self.screen is self.chat:
            await self.push_screen(BackgroundsScreen(self.runtime, self.chat.id_of_session))
