"""Effects that an abort or a deadline ends: each runs in a task of its own, so that the turn itself is never torn."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")

GRACE_SECONDS = 1.0
"""How long an effect may take to stop; one that does not is left behind, and the turn goes on without it."""


class Aborted:
    """The effect was ended by an abort before it had a result."""


class Late:
    """The effect was ended by its deadline before it had a result."""


ABORTED = Aborted()
LATE = Late()


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

    async def run(self, work: Coroutine[Any, Any, Result], seconds: float | None = None) -> Result | Aborted | Late:
        """The effect's result, or why it has none; raises what the effect raised."""
        if self.aborted:
            work.close()
            return ABORTED
        effect: _Effect[Result] = _Effect(work)
        self._effects.add(effect)
        if seconds is not None:
            effect.timer = effect.loop.call_later(seconds, effect.end, LATE)
        try:
            await effect.over
        except asyncio.CancelledError:
            effect.task.cancel()
            raise
        finally:
            self._effects.discard(effect)
            if effect.timer is not None:
                effect.timer.cancel()
        return effect.outcome()


class _Effect(Generic[Result]):
    """A task, and the future that says when nobody waits for it any more."""

    __slots__ = ("ended", "loop", "over", "task", "timer")

    def __init__(self, work: Coroutine[Any, Any, Result]) -> None:
        self.loop = asyncio.get_running_loop()
        self.task = self.loop.create_task(work)
        self.over: asyncio.Future[None] = self.loop.create_future()
        self.ended: Aborted | Late | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.task.add_done_callback(self._done)

    def _done(self, _: object) -> None:
        if not self.over.done():
            self.over.set_result(None)

    def end(self, why: Aborted | Late) -> None:
        if self.ended is None:
            self.ended = why
            self.task.cancel()
            self.timer = self.loop.call_later(GRACE_SECONDS, self._done, None)

    def outcome(self) -> Result | Aborted | Late:
        if self.ended is not None and (not self.task.done() or self.task.cancelled()):
            return self.ended
        return self.task.result()


def cancelled_by_us(error: BaseException) -> bool:
    """Whether this is the cancellation of the effect, and not one that foreign code raised on its own."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
