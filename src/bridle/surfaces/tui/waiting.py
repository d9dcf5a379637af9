"""`WaitingPrompts`: prompts that were sent and no turn has taken yet, shown above the editor."""

from __future__ import annotations

from bridle.core.inbox import PromptItem
from bridle.runtime.sessions import Sessions
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.widgets import Static

MOST_SHOWN = 3


class WaitingPrompts(Static):
    """The prompts that wait, with the way to edit or withdraw them."""

    def __init__(self) -> None:
        super().__init__("", id="waiting")
        self.display = False
        self.items: tuple[PromptItem, ...] = ()

    async def look(self, sessions: Sessions, session: str) -> None:
        """Show the prompts that wait now."""
        found = await sessions.pending_prompts(session)
        self.put(tuple(item for item in found if not item.of_parent and item.reply))

    def put(self, items: tuple[PromptItem, ...]) -> None:
        """Show these prompts."""
        if items == self.items:
            return
        self.items = items
        rows = [f"{'queued' if item.queue else 'steering'}: {line(item.text)[:200]}" for item in items[-MOST_SHOWN:]]
        more = len(items) - len(rows)
        rows = [f"{more} more", *rows] if more else rows
        self.update("\n".join([*rows, "up: edit the last one · /waiting: edit or withdraw"]) if rows else "")
        self.display = bool(rows)
