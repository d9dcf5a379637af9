"""Effects that an abort or a deadline ends: each runs in a task of its own, so that the turn itself is never torn."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from bridle.seams import begin

Result = TypeVar("Result")

GRACE_SECONDS = 1.0
"""How long an effect may take to stop; one that does not is left behind, and the turn goes on without it."""


class Aborted:
    """The effect was ended by an abort before it had a result."""


class Late:
    """The effect was ended by its deadline before it had a result."""


ABORTED = Aborted()
LATE = Late()


class Deadline:
    """The moment at which an effect is late. It may be moved while the effect runs, by no more than setting it."""

    __slots__ = ("at", "look")

    def __init__(self, at: float, look: float) -> None:
        """It is looked at every `look` seconds; whoever moves it leaves at least as many from then on."""
        self.at = at
        self.look = look


class Scope:
    """All effects of one turn that are under way."""

    def __init__(self) -> None:
        self.aborted = False
        self._effects: set[_Effect[Any]] = set()

    def abort(self) -> None:
        """End every effect, and start none any more. May be called twice."""
        self.aborted = True
        for effect in tuple(self._effects):
            effect.end(ABORTED)

    async def run(
        self, work: Coroutine[Any, Any, Result], until: float | Deadline | None = None
    ) -> Result | Aborted | Late:
        """The effect's result, or why it has none; raises what the effect raised."""
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
    """A task, and the future that says when nobody waits for it any more."""

    __slots__ = ("ended", "loop", "over", "task", "timer", "work")

    def __init__(self, work: Coroutine[Any, Any, Result]) -> None:
        self.loop = asyncio.get_running_loop()
        self.work = work
        self.task = begin(self._carry())
        self.over: asyncio.Future[None] = self.loop.create_future()
        self.ended: Aborted | Late | None = None
        self.timer: asyncio.TimerHandle | None = None

    async def _carry(self) -> Result:
        # Whoever waits is told from within: a callback of the task would take the loop another round.
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
        # What had not begun yet could tell nobody.
        self.work.close()
        self._tell()

    def outcome(self) -> Result | Aborted | Late:
        if self.ended is not None and (not self.task.done() or self.task.cancelled()):
            return self.ended
        return self.task.result()


def cancelled_by_us(error: BaseException) -> bool:
    """Whether this is the cancellation of the effect, and not one that foreign code raised on its own."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
