"""Live output of a turn's subagents, each followed while its parent waits for it."""

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
from bridle.runtime import Runtime
from bridle.surfaces.cli.text import TextLines

TICK_SECONDS = 0.1
LAST_WORDS_SECONDS = 2.0
"""Timeout for the remaining entries of a subagent that has ended."""


class SubagentViews:
    """Follows every subagent of a tree and shows its events below the call that started it."""

    def __init__(self, runtime: Runtime, lines: TextLines) -> None:
        self._runtime = runtime
        self._lines = lines
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._told: dict[str, int] = {}
        """Last entry shown per subagent, so that nothing repeats after a question interrupted the output."""

    def begin(self, session: Session) -> None:
        """Follow the subagents that are already running."""
        turn = session.running
        for call, child in turn.children.items() if turn is not None else ():
            self._start(call, child, 1)

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
        session = Session()
        self._lines.below(child, session, depth)
        try:
            async for event in self._runtime.follow(child):
                if isinstance(event, Entry) and await self._tell(call, child, depth, session, event):
                    break
        except BridleError:
            # The parent reports a child that cannot be read.
            return
        finally:
            self._lines.ended_below(child)

    async def _tell(self, call: str, child: str, depth: int, session: Session, entry: Entry) -> bool:
        """Show one entry unless it was shown before; return True at the end of the turn."""
        fresh = entry.sequence > self._told.get(child, 0)
        if fresh:
            await self.ended(entry)
        fold(session, entry)
        turn = session.turn
        if turn is None or turn.start.delegation is None or turn.start.delegation.call != call:
            # Its work for an earlier call was shown then.
            return False
        self.started(entry, depth + 1)
        if fresh:
            self._told[child] = entry.sequence
            self._lines.event_below(child, entry)
        return any(isinstance(each, PartPut) and isinstance(each.part, TurnFinish) for each in entry.events)

    async def close(self) -> None:
        tasks, self._followed = list(self._followed.values()), {}
        for task in tasks:
            await _stopped(task)


def _reported(entry: Entry) -> Iterator[str]:
    for event in entry.events:
        if isinstance(event, CallMoved) and isinstance(event.state, (Done, Failed)) and event.state.report is not None:
            yield event.state.report.child


@asynccontextmanager
async def ticking(lines: TextLines) -> AsyncIterator[None]:
    """Refresh the status lines of a terminal while the context is open."""
    task = asyncio.create_task(_tick(lines)) if lines.lively else None
    try:
        yield
    finally:
        if task is not None:
            await _stopped(task)
        lines.rest()


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _tick(lines: TextLines) -> None:
    while True:
        lines.tick()
        await asyncio.sleep(TICK_SECONDS)
