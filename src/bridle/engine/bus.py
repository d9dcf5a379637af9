"""In-process event bus: publishes journal entries and live deltas to subscribers."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from bridle.core.events import Entry, Live, PartDelta

MAX_WAITING = 10_000


class Subscription:
    """The events of one session from now on; deltas are dropped when they are not read, entries never."""

    def __init__(self) -> None:
        self._events: deque[Entry | Live] = deque()
        self._reader: asyncio.Future[None] | None = None

    def put(self, event: Entry | Live) -> None:
        if isinstance(event, PartDelta) and len(self._events) > MAX_WAITING:
            return
        self._events.append(event)
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def waiting(self) -> Entry | Live | None:
        """Return the next event if one has already come, else None."""
        return self._events.popleft() if self._events else None

    async def come(self, seconds: float | None, *others: asyncio.Future[Any]) -> bool:
        """Wait for an event, for one of these futures, or for this long; return whether there is an event."""
        self._reader = asyncio.get_running_loop().create_future()
        await asyncio.wait([self._reader, *others], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        self._reader.cancel()
        return bool(self._events)


class Bus:
    """Publishes after the commit: deltas may come before it, entries never."""

    def __init__(self) -> None:
        self._subscriptions: defaultdict[str, list[Subscription]] = defaultdict(list)
        self._listeners: list[Callable[[str, Entry], None]] = []

    def listen(self, listener: Callable[[str, Entry], None]) -> None:
        """Call `listener` with every entry of every session; it must be quick and must not raise."""
        self._listeners.append(listener)

    def publish(self, session: str, event: Entry | Live) -> None:
        if self._listeners and isinstance(event, Entry):
            for listener in self._listeners:
                listener(session, event)
        if session in self._subscriptions:
            for subscription in self._subscriptions[session]:
                subscription.put(event)

    def subscribe(self, session: str) -> Subscription:
        subscription = Subscription()
        self._subscriptions[session].append(subscription)
        return subscription

    def unsubscribe(self, session: str, subscription: Subscription) -> None:
        self._subscriptions[session].remove(subscription)
        if not self._subscriptions[session]:
            del self._subscriptions[session]
