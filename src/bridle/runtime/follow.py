"""A session watched without end, whoever drives it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from bridle.core.events import Entry, Live, PartDelta
from bridle.runtime.runtime import Runtime

LOOK_SECONDS = 0.5


async def follow(runtime: Runtime, session: str, after: int = 0) -> AsyncIterator[Entry | Live]:
    """Every entry after a sequence number, in order, and deltas as they come; deltas come only from this process."""
    subscription = runtime.bus.subscribe(session)
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    try:
        while True:
            event = subscription.waiting()
            if isinstance(event, PartDelta) or (event is not None and event.sequence == after + 1):
                after += isinstance(event, Entry)
                yield event
            elif event is not None and event.sequence <= after:
                continue
            elif event is not None or not await subscription.come(LOOK_SECONDS, never):
                # Another process may have written: whatever is missing is in the journal.
                for entry in await runtime.journal.load(session, after):
                    after = entry.sequence
                    yield entry
    finally:
        runtime.bus.unsubscribe(session, subscription)
