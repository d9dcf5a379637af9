"""Bounds on what clients may use: body size, request rate, event streams and connections."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.types import Message, Receive

from bridle.surfaces.server.problems import RequestRefused

MOST_BUCKETS = 10_000
BURST = 4
"""Requests that may come at once, as a multiple of those in a second."""
ABORT = "bridle.abort"
"""Key in the scope of a request: the function that closes its connection at once."""
KNOWN = "bridle.known"
"""Key in the scope of a request: the function that reports valid credentials to its connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Bounds for each client, and for the server as a whole."""

    body_bytes: int = 32 << 20
    open_body_bytes: int = 4 << 10
    """The same for a client without credentials."""
    header_bytes: int = 32 << 10
    header_seconds: float = 10.0
    body_seconds: float = 60.0
    """Time for all of a body; one of the largest size needs half a megabyte a second."""
    idle_seconds: float = 75.0
    """Time after which a connection without a request is closed."""
    send_seconds: float = 30.0
    """Time within which a reader must take some of the events that wait for it."""
    connections: int = 1_000
    followers: int = 50
    """Event streams of one token at the same time."""
    requests_per_second: float = 100.0
    burst: int = BURST * 100
    """Requests of one token that may come at once."""
    waiting_events: int = 2_000
    """Events that wait for a slow reader before it is dropped."""
    heartbeat_seconds: float = 15.0


class Rates:
    """Limits the request rate of each client, by a token bucket."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, client: str) -> None:
        """Count a request; raises `RequestRefused` (429) if the client sends too many."""
        now, burst = asyncio.get_running_loop().time(), float(self._limits.burst)
        left, since = self._buckets.pop(client, (burst, now))
        left = min(burst, left + (now - since) * self._limits.requests_per_second)
        if len(self._buckets) >= MOST_BUCKETS:
            self._buckets.pop(next(iter(self._buckets)))
        self._buckets[client] = (max(0.0, left - 1), now)
        if left < 1:
            raise RequestRefused(429, "", "too many requests: send fewer, or wait a second", {"Retry-After": "1"})


class Followers:
    """Counts the event streams of each client."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    @contextmanager
    def place(self, client: str) -> Iterator[None]:
        """Hold a place for a stream; raises `RequestRefused` (429) if the client has too many."""
        if self._open[client] >= self._most:
            raise RequestRefused(
                429, "", f"this token has {self._most} open event streams: close some", {"Retry-After": "5"}
            )
        self._open[client] += 1
        try:
            yield
        finally:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

    @property
    def number(self) -> int:
        """The number of open streams."""
        return self._open.total()


def bounded(receive: Receive, most: int, declared: str) -> Receive:
    """Return a `receive` that raises `RequestRefused` (413) for a body of more than `most` bytes.

    A larger declared size is refused at once.
    """
    if declared and not declared.isdecimal():
        raise RequestRefused(400, "content-length", "the size of the body must be a number")
    if declared and int(declared) > most:
        raise too_large(most)
    got = 0

    async def limited() -> Message:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        if got > most:
            raise too_large(most)
        return message

    return limited


def too_large(most: int) -> RequestRefused:
    """Return the refusal of a body of more than `most` bytes."""
    return RequestRefused(413, "body", f"a body may have at most {most} bytes", {"Connection": "close"})
