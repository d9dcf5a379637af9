"""What happens, told to whoever watches in this process."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

from bridle.core.events import Entry, Live, PartDelta

MAX_WAITING = 10_000


class Subscription:
    """The events of one session from now on; deltas are dropped when nobody reads, entries never."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Entry | Live] = asyncio.Queue()

    def put(self, event: Entry | Live) -> None:
        if isinstance(event, PartDelta) and self._queue.qsize() > MAX_WAITING:
            return
        self._queue.put_nowait(event)

    async def next(self) -> Entry | Live:
        return await self._queue.get()

    def waiting(self) -> Entry | Live | None:
        """The next event if there is one already."""
        return None if self._queue.empty() else self._queue.get_nowait()


class Bus:
    """Publishes after the commit: deltas may come before it, entries never."""

    def __init__(self) -> None:
        self._subscriptions: defaultdict[str, list[Subscription]] = defaultdict(list)
        self._listeners: list[Callable[[str, Entry], None]] = []

    def listen(self, listener: Callable[[str, Entry], None]) -> None:
        """Call this with every entry of every session; it must be quick and must not raise."""
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
        waiting = self._subscriptions.get(session)
        if waiting is not None and subscription in waiting:
            waiting.remove(subscription)
            if not waiting:
                del self._subscriptions[session]
