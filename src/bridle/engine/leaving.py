"""`Leaving`: ends the turns of a stopping process after a grace, recorded so that another process continues them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Literal

from bridle.turn.active_turn import ActiveTurn
from bridle.turn.settle import settle_left
from bridle.turn.title import end_title


class Leaving:
    """The turns that are driven here, and what they may still record."""

    def __init__(self) -> None:
        self._turns: dict[str, ActiveTurn] = {}
        self._refuses: Literal["nothing", "intents", "all"] = "nothing"
        self._none_left = asyncio.Event()

    def add(self, active: ActiveTurn) -> None:
        self._turns[active.record.lease.session] = active
        active.record.refuses = self._refuses

    def remove(self, active: ActiveTurn) -> None:
        self._turns.pop(active.record.lease.session, None)
        if not self._turns:
            self._none_left.set()

    async def leave(self, grace: float) -> None:
        """Let the work that is under way finish, for at most `grace` seconds; then end it. May be called twice.

        Each turn ends its drive with `LeaseGivenUp`, unless it finishes or parks by itself.
        """
        self._refuse("intents")
        self._none_left.clear()
        if self._turns:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._none_left.wait()
        self._refuse("all")
        for active in self._turns.values():
            active.scope.abort()

    def _refuse(self, what: Literal["intents", "all"]) -> None:
        self._refuses = what
        for active in self._turns.values():
            active.record.refuses = what


async def record_hand_over(active: ActiveTurn) -> None:
    """Record the ended effects of a turn, so that the next process continues from there."""
    active.record.refuses = "nothing"
    await end_title(active)
    await active.record.flush()
    await settle_left(active, handed_over=True)
