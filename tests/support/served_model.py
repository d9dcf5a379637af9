"""A provider on loopback for commands that run in processes of their own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from bridle.testing.scripted import Reply, Scenario
from bridle.testing.server import ScriptedServer


@contextmanager
def serving(*replies: Reply, then: Reply | None = None) -> Iterator[ScriptedServer]:
    """A provider on loopback, in a thread of its own, since the command that asks it runs beside it."""
    loop = asyncio.new_event_loop()
    server = ScriptedServer(Scenario(list(replies), then))
    started, stop = threading.Event(), asyncio.Event()

    async def work() -> None:
        async with server:
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(work(),))
    thread.start()
    assert started.wait(60)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
