"""`Lifelines`: tells supervisors how long their commands may run; those of a frozen process end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from bridle.seams import begin

BYTES = 8
"""The length of one signal: the moment in nanoseconds since the machine started."""


class Lifelines:
    """The lifelines of all commands that depend on one lease, signalled every `period` seconds by one task.

    `until` returns the moment, in seconds since the machine started, at which commands end if no signal moves it. It
    never lies behind the end of the lease. To be used in one event loop.
    """

    def __init__(self, until: Callable[[], float], period: float) -> None:
        self._until = until
        self._period = period
        self._handles: set[int] = set()
        self._task: asyncio.Task[None] | None = None

    def until(self) -> int:
        """Return the moment until which a command that starts now may run, as supervisors read it."""
        return max(1, int(self._until() * 1e9))

    def add(self, handle: int) -> None:
        """Signal on this end of a pipe from now on. It stays the caller's, who removes it before closing it."""
        os.set_blocking(handle, False)
        self._handles.add(handle)
        if self._task is None:
            self._task = begin(self._signal())

    def remove(self, handle: int) -> None:
        """Signal on this end no more. May be called twice."""
        self._handles.discard(handle)
        if not self._handles and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _signal(self) -> None:
        while True:
            await asyncio.sleep(self._period)
            signal = self.until().to_bytes(BYTES, "little")
            for handle in self._handles:
                # A pipe that is full has a supervisor that reads nothing; a broken one has a supervisor that has ended.
                with suppress(BlockingIOError, BrokenPipeError):
                    os.write(handle, signal)
