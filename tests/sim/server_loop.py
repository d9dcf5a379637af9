"""A loop for several processes at once: the dead do nothing more, and the frozen go on where they stood."""

from __future__ import annotations

import heapq
from asyncio import Handle
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any

from support.virtual import VirtualLoop


@dataclass
class Process:
    """What happens to one process, and how far its clocks are from those of the others."""

    name: str
    apart: float = 0.0
    """Seconds by which its clock on the wall is ahead."""
    booted: float = 0.0
    """Seconds for which its machine had been up when the world began."""
    dead: bool = False
    frozen_until: float = 0.0
    silent_until: float = 0.0
    """Until when nothing passes between it and the server."""
    context: Context = field(default_factory=copy_context)

    def __post_init__(self) -> None:
        self.context.run(PROCESS.set, self)


PROCESS: ContextVar[Process] = ContextVar("process")
EVERYONE = Process("everyone")


class ServerLoop(VirtualLoop):
    """Virtual time for several processes; what runs in a process's context belongs to it."""

    def __init__(self, seed: int, max_rounds: int) -> None:
        super().__init__(seed, max_rounds)
        self._parked: list[Handle] = []
        self._dropped: list[Handle] = []
        """What the dead would have done, kept so that nothing of theirs is closed."""

    def freeze(self, process: Process, seconds: float) -> None:
        process.frozen_until = self.time() + seconds
        self.beside(seconds, self._thaw)

    def beside(self, seconds: float, work: Callable[..., Any], *given: Any) -> None:
        """Do something later that belongs to no process, as the server's work does."""
        self.call_later(seconds, work, *given, context=Context())

    def _thaw(self) -> None:
        self._ready.extend(self._parked)
        self._parked.clear()

    def _run_once(self) -> None:
        self._sift()
        super()._run_once()

    def _process_events(self, events: list[Any]) -> None:
        # What is due now is looked at before it runs.
        while self._scheduled and self._scheduled[0].when() < self.time() + self._clock_resolution:
            handle = heapq.heappop(self._scheduled)
            handle._scheduled = False
            self._ready.append(handle)
        self._sift()

    def _sift(self) -> None:
        ready = list(self._ready)
        self._ready.clear()
        for handle in ready:
            process = handle._context.get(PROCESS, EVERYONE)
            if process.frozen_until > self.time() and not process.dead:
                self._parked.append(handle)
            else:
                (self._dropped if process.dead else self._ready).append(handle)
