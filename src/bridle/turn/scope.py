"""Effects that an abort ends: each runs in a task of its own, so that the turn itself is never torn."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


class Aborted:
    """The effect was ended by an abort before it had a result."""


ABORTED = Aborted()


class Scope(Generic[Result]):
    """All effects of one turn that are under way."""

    def __init__(self) -> None:
        self.aborted = False
        self._tasks: set[asyncio.Task[Any]] = set()

    def abort(self) -> None:
        """End every effect, and start none any more. May be called twice."""
        self.aborted = True
        for task in self._tasks:
            task.cancel()

    async def run(self, work: Coroutine[Any, Any, Result]) -> Result | Aborted:
        """The effect's result, or that it was aborted; raises what the effect raised."""
        if self.aborted:
            work.close()
            return ABORTED
        task = asyncio.create_task(work)
        self._tasks.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if not task.cancelled():
                task.cancel()
                raise
            return ABORTED
        finally:
            self._tasks.discard(task)
