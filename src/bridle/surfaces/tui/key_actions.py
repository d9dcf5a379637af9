"""`KeyActions`: what a key of the settings does, pressed alone or after the leader key."""

from __future__ import annotations

from bridle.surfaces.tui.editor import Editor
from bridle.surfaces.tui.leader import LeaderScreen
from bridle.surfaces.tui.overviews import Overviews


class KeyActions(Overviews):
    """Finds the action of a key by its name in the settings."""

    async def action_press(self, name: str) -> None:
        """Perform the action of a key."""
        if name == "leader":
            await self.push_screen(LeaderScreen(self.keymap), self._after_leader)
        else:
            await self._do(name)

    async def _after_leader(self, name: str | None) -> None:
        if name is not None:
            await self._do(name)

    async def _do(self, name: str) -> None:
        match name:
            case "queue":
                self.chat.editor.send(queue=True)
            case "read":
                self.chat.transcript.focus()
            case "search":
                self.chat.action_search()
            case "palette":
                self.action_command_palette()
            case "quit":
                self.exit()
            case "send" | "newline" | "next_agent" | "approvals" | "stop" | "paste" | "interrupt":
                await self._in_editor(name)
            case _:
                await self.perform(name)

    async def _in_editor(self, name: str) -> None:
        """Perform an editor action after the leader key."""
        editor = self.chat.editor
        match name:
            case "send":
                editor.send()
            case "newline":
                editor.insert("\n")
            case "paste":
                await editor.paste_anything()
            case "interrupt":
                await self.action_interrupt()
            case "next_agent" | "approvals" | "stop":
                self.chat.post_message(Editor.Pressed(name))

    async def action_interrupt(self) -> None:
        """Stop, clear or leave."""
        raise NotImplementedError
