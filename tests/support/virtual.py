"""A world under control: virtual time and a seeded scheduler."""

from __future__ import annotations

import asyncio
import random
from asyncio.base_events import BaseEventLoop
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from bridle.seams import Seams

Result = TypeVar("Result")

EPOCH = 1_700_000_000.0
SESSION = "ses_one"
MAX_ROUNDS = 200_000


class Deadlock(AssertionError):
    """Nothing is ready and nothing is scheduled: this would hang for ever."""


if TYPE_CHECKING:

    class RawLoop(BaseEventLoop):
        """What asyncio keeps to itself of its loops."""

        _ready: deque[Any]

        def _run_once(self) -> None: ...

else:
    RawLoop = BaseEventLoop


class VirtualLoop(RawLoop):
    """An event loop whose time passes only when nobody has anything to do; the ready queue is shuffled by a seed."""

    def __init__(self, seed: int | None = None, max_rounds: int = MAX_ROUNDS) -> None:
        super().__init__()
        self._max_rounds = max_rounds
        self._now = 0.0
        self._rounds = 0
        self._clock_resolution = 1e-6
        self._selector = self
        self._random = None if seed is None else random.Random(seed)

    def time(self) -> float:
        return self._now

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Deadlock("nothing is ready and nothing is scheduled")
        self._now += timeout
        return []

    def _process_events(self, events: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def _run_once(self) -> None:
        self._rounds += 1
        if self._rounds > self._max_rounds:
            raise Deadlock(f"{self._max_rounds} rounds, and no end at {self._now:.1f} s")
        if self._random is not None and len(self._ready) > 1:
            ready = list(self._ready)
            self._random.shuffle(ready)
            self._ready.clear()
            self._ready.extend(ready)
        super()._run_once()


class LoopClock:
    """Both clocks from the loop; the wall goes on from one life of the process to the next."""

    def __init__(self, loop: VirtualLoop, start: float = EPOCH) -> None:
        self._loop = loop
        self._start = start

    def wall(self) -> float:
        return self._start + self._loop.time()

    def monotonic(self) -> float:
        return self._loop.time()

    def since_boot(self) -> float:
        return self._loop.time()


class InlineOffload:
    """Runs each job immediately, so that nothing happens in between."""

    async def run(self, job: Callable[[], Result]) -> Result:
        return job()

    def close(self) -> None:
        """Do nothing: nothing was started."""


def virtual_seams(loop: VirtualLoop, seed: int = 0, start: float = EPOCH) -> Seams:
    return Seams(LoopClock(loop, start), random.Random(seed), InlineOffload)


def run_virtually(work: Callable[[Seams], Coroutine[Any, Any, Any]], *, seed: int | None = None) -> Any:
    """Run a coroutine in virtual time and return its result."""
    loop = VirtualLoop(seed)
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(work(virtual_seams(loop)))
    finally:
        asyncio.set_event_loop(None)
        loop.close()
