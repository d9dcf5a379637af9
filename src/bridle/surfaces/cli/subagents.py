"""`SubagentViews`: follows the running subagents of a turn, and shows each below the call that started it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

from bridle.core.events import CallMoved, Entry, PartPut
from bridle.core.fold import fold
from bridle.core.parts import TurnFinish
from bridle.core.session import Session
from bridle.core.states import Done, Failed, Waiting
from bridle.errors import BridleError
from bridle.runtime.project import Backend
from bridle.surfaces.cli.narrator import Narrator
from bridle.surfaces.cli.text import TextLines

TICK_SECONDS = 0.1
LAST_WORDS_SECONDS = 2.0
"""Timeout for the remaining entries of a subagent that has ended."""


class SubagentViews:
    """Follows every subagent of a tree and shows its events below the call that started it."""

    def __init__(self, runtime: Backend, lines: TextLines) -> None:
        self._runtime = runtime
        self._lines = lines
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._told: dict[str, int] = {}
        """Last entry shown per subagent, so that nothing repeats after a question interrupted the output."""

    @asynccontextmanager
    async def following(self, session: Session) -> AsyncIterator[None]:
        """Follow the subagents that are already running, and refresh a terminal's status lines, until the end."""
        for call, child in session.running.children.items() if session.running is not None else ():
            self._start(call, child, 1)
        ticking = asyncio.create_task(self._tick()) if self._lines.lively else None
        try:
            yield
        finally:
            tasks, self._followed = [*filter(None, [ticking]), *self._followed.values()], {}
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            self._lines.rest()

    async def _tick(self) -> None:
        while True:
            self._lines.tick()
            await asyncio.sleep(TICK_SECONDS)

    def started(self, entry: Entry, depth: int = 1) -> None:
        """Follow the subagents that an entry has started."""
        for event in entry.events:
            if isinstance(event, CallMoved) and isinstance(event.state, Waiting):
                self._start(event.id, event.state.child, depth)

    async def ended(self, entry: Entry) -> None:
        """Show the remaining events of subagents whose end the entry reports, before the entry itself is shown."""
        for child in _reported(entry):
            task = self._followed.pop(child, None)
            if task is not None:
                await asyncio.wait([task], timeout=LAST_WORDS_SECONDS)
                task.cancel()

    def _start(self, call: str, child: str, depth: int) -> None:
        if child not in self._followed or self._followed[child].done():
            self._followed[child] = asyncio.create_task(self._follow(call, child, depth))

    async def _follow(self, call: str, child: str, depth: int) -> None:
        # The parent reports a child that cannot be read.
        with suppress(BridleError), self._lines.below(child, depth) as narrator:
            async for event in self._runtime.follow(child):
                if isinstance(event, Entry) and await self._tell(call, child, narrator, event):
                    break

    async def _tell(self, call: str, child: str, narrator: Narrator, entry: Entry) -> bool:
        """Show one entry unless it was shown before; return True at the end of the turn."""
        fresh = entry.sequence > self._told.get(child, 0)
        if fresh:
            await self.ended(entry)
        fold(narrator.session, entry)
        turn = narrator.session.turn
        if turn is None or turn.start.delegation is None or turn.start.delegation.call != call:
            # Its work for an earlier call was shown then.
            return False
        self.started(entry, narrator.depth + 1)
        if fresh:
            self._told[child] = entry.sequence
            for event in entry.events:
                narrator.tell(event)
        return any(isinstance(each, PartPut) and isinstance(each.part, TurnFinish) for each in entry.events)


def _reported(entry: Entry) -> Iterator[str]:
    for event in entry.events:
        if isinstance(event, CallMoved) and isinstance(event.state, (Done, Failed)) and event.state.report is not None:
            yield event.state.report.child
