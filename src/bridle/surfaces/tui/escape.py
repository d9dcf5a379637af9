"""`EscapeKey`: what esc means when no list and no mode is open: stop the turn, clear the draft, or rewind."""

from __future__ import annotations

from typing import Literal

AGAIN_SECONDS = 1.0
Meaning = Literal["stop", "nothing", "wait", "clear", "rewind"]


class EscapeKey:
    """Remembers when esc was pressed last; times are those of any steady clock, in seconds."""

    def __init__(self) -> None:
        self._stopped = self._pressed = -AGAIN_SECONDS

    def pressed(self, now: float, *, busy: bool, draft: bool) -> Meaning:
        """Return what this press means. `wait` means that a second one within a second clears or rewinds."""
        if busy:
            self._stopped = now
            return "stop"
        if now - self._stopped < AGAIN_SECONDS:
            return "nothing"
        if now - self._pressed >= AGAIN_SECONDS:
            self._pressed = now
            return "wait"
        self._pressed = -AGAIN_SECONDS
        return "clear" if draft else "rewind"
