"""`SharedRuntimes`: the runtimes of one agent's runs, one per event loop, open while at least one run uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from bridle.runtime import Runtime, RuntimeConfig
from bridle.seams import begin


@dataclass(slots=True)
class _Open:
    runtime: Runtime
    loop: asyncio.AbstractEventLoop
    config: RuntimeConfig
    """Referenced here, because the runtime is found by the id of its configuration."""
    users: int = 0


class SharedRuntimes:
    """Opens and closes the runtimes of an agent. Any number of threads may use it, each with its own event loop."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], _Open] = {}
        self._held: dict[int, list[Runtime]] = {}
        self._endings: set[asyncio.Task[None]] = set()
        """Tasks that end cancelled runs; kept, because a task without a reference may vanish."""

    def acquire(self, config: RuntimeConfig) -> Runtime:
        """Return the open runtime of this event loop, or open one; `release` must follow."""
        loop = asyncio.get_running_loop()
        key = id(loop), id(config)
        found = self._open.get(key)
        if found is None or found.loop is not loop:
            found = self._open[key] = _Open(Runtime(config), loop, config)
        found.users += 1
        return found.runtime

    async def release(self, runtime: Runtime) -> None:
        """Close the runtime if no other run uses it."""
        # A copy, since other threads open and close runtimes of their own event loops meanwhile.
        for key, found in list(self._open.items()):
            if found.runtime is runtime:
                found.users -= 1
                if not found.users:
                    del self._open[key]
                    await runtime.close()
                return

    def hold(self, config: RuntimeConfig) -> None:
        """Keep the runtime of this event loop open until `drop`; may be nested."""
        self._held.setdefault(id(asyncio.get_running_loop()), []).append(self.acquire(config))

    async def drop(self) -> None:
        """End the last `hold` in this event loop."""
        await self.release(self._held[id(asyncio.get_running_loop())].pop())

    def detach(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Run cleanup in a task of its own, which no cancellation of the caller reaches."""
        task = begin(work())
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)
        return task
