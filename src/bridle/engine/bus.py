"""`Bus`: publishes entries and live deltas to subscribers in this process, and relays deltas between processes."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bridle.core.events import Entry, Live, PartDelta
from bridle.journal.journal import DeltaRelay

LOG = logging.getLogger(__name__)
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
    """Publishes after the commit: deltas may come before it, entries never.

    `relay` takes the deltas to followers in other processes.
    """

    def __init__(self, relay: DeltaRelay | None = None) -> None:
        self._relay = relay
        self._subscriptions: defaultdict[str, list[Subscription]] = defaultdict(list)
        self._listeners: list[Callable[[str, Entry], None]] = []

    def listen(self, listener: Callable[[str, Entry], None]) -> None:
        """Call `listener` with every entry of every session. It must be quick; an exception is logged."""
        self._listeners.append(listener)

    def leave(self, listener: Callable[[str, Entry], None]) -> None:
        """Call a listener no more. May be called twice."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def publish(self, session: str, event: Entry | Live) -> None:
        if self._listeners and isinstance(event, Entry):
            for listener in tuple(self._listeners):
                try:
                    listener(session, event)
                except Exception:
                    # A listener may be foreign code: the entry is written, and nothing that waits for it may fail.
                    LOG.exception("a listener failed")
        if session in self._subscriptions:
            for subscription in self._subscriptions[session]:
                subscription.put(event)
        if self._relay is not None and isinstance(event, PartDelta):
            self._relay.send(session, event)

    def subscribe(self, session: str) -> Subscription:
        subscription = Subscription()
        self._subscriptions[session].append(subscription)
        return subscription

    @contextmanager
    def hear_others(self, session: str, subscription: Subscription) -> Iterator[None]:
        """Put the deltas of a session that other processes drive into a subscription as well."""
        if self._relay is None:
            yield
            return
        with self._relay.hear(session, subscription.put):
            yield

    def unsubscribe(self, session: str, subscription: Subscription) -> None:
        self._subscriptions[session].remove(subscription)
        if not self._subscriptions[session]:
            del self._subscriptions[session]
