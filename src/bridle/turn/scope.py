"""`Scope`: runs a turn's operations in tasks of their own, which an abort or timeout ends without ending the turn."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bridle.seams import begin

Result = TypeVar("Result")

GRACE_SECONDS = 1.0
"""Time for an effect to stop; after that it is abandoned, and the turn continues."""


class Aborted:
    """An abort ended the effect before it had a result."""


class Late:
    """Its deadline ended the effect before it had a result."""


ABORTED = Aborted()
LATE = Late()


@dataclass(slots=True)
class Deadline:
    """The moment at which an effect times out. It may be moved while the effect runs, by setting it."""

    at: float
    look: float
    """The deadline is checked every `look` seconds; moving it must leave at least this long from then on."""


class Scope:
    """All running effects of one turn. `places` limits the tool calls of this process that run at once."""

    def __init__(self, places: asyncio.Semaphore | None = None) -> None:
        self.aborted = False
        self._places = places
        self._effects: set[_Effect[Any]] = set()

    def abort(self) -> None:
        """End every effect, and start no more. May be called twice."""
        self.aborted = True
        for effect in tuple(self._effects):
            effect.end(ABORTED)

    async def in_place(self, work: Coroutine[Any, Any, Result], until: float | None) -> Result:
        """Wait for a place and do the work in it. An abort or the timeout ends the wait; it begins without one then."""
        if self._places is None:
            return await work
        taken = False
        try:
            taken = await self.run(self._places.acquire(), until) is True
            return await work
        finally:
            work.close()
            if taken:
                self._places.release()

    async def run(
        self, work: Coroutine[Any, Any, Result], until: float | Deadline | None = None
    ) -> Result | Aborted | Late:
        """Run the effect; return its result, or why it has none. Raises the effect's exceptions."""
        if self.aborted:
            work.close()
            return ABORTED
        effect: _Effect[Result] = _Effect(work)
        self._effects.add(effect)
        if isinstance(until, Deadline):
            effect.look(until)
        elif until is not None:
            effect.timer = effect.loop.call_later(until, effect.end, LATE)
        try:
            await effect.over
        except asyncio.CancelledError:
            effect.stop()
            raise
        finally:
            self._effects.discard(effect)
            if effect.timer is not None:
                effect.timer.cancel()
        return effect.outcome()


class _Effect(Generic[Result]):
    """A task, and the future that is done when its waiter may continue."""

    __slots__ = ("ended", "loop", "over", "task", "timer", "work")

    def __init__(self, work: Coroutine[Any, Any, Result]) -> None:
        self.loop = asyncio.get_running_loop()
        self.work = work
        self.task = begin(self._carry())
        self.over: asyncio.Future[None] = self.loop.create_future()
        self.ended: Aborted | Late | None = None
        self.timer: asyncio.TimerHandle | None = None

    async def _carry(self) -> Result:
        # The task itself notifies the waiter: a done callback would take another round of the loop.
        try:
            return await self.work
        finally:
            self._tell()

    def _tell(self) -> None:
        if not self.over.done():
            self.over.set_result(None)

    def look(self, deadline: Deadline) -> None:
        now = self.loop.time()
        if now >= deadline.at:
            self.end(LATE)
        else:
            self.timer = self.loop.call_at(min(deadline.at, now + deadline.look), self.look, deadline)

    def end(self, why: Aborted | Late) -> None:
        if self.ended is None:
            self.ended = why
            self.stop()
            self.timer = self.loop.call_later(GRACE_SECONDS, self._tell)

    def stop(self) -> None:
        self.task.add_done_callback(self._stopped)
        self.task.cancel()

    def _stopped(self, _: object) -> None:
        # Work that had not begun could not notify its waiter.
        self.work.close()
        self._tell()

    def outcome(self) -> Result | Aborted | Late:
        if self.ended is not None and (not self.task.done() or self.task.cancelled()):
            return self.ended
        return self.task.result()


def cancelled_by_us(error: BaseException) -> bool:
    """Return whether this is the cancellation of the effect, and not one that foreign code raised on its own."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
