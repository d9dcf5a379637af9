"""`Model`: the contract of a model adapter, which answers a request with a stream of events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from bridle.core.stream import ModelRequest, StreamEvent


class Model(Protocol):
    """Anything that answers a request with a stream of events.

    `stream` never raises: failure is a `ModelError` event, after which nothing follows. A whole reply ends with
    `StreamEnd`; a stream that ends without it was cut off. Cancelling the consumer closes the connection.
    An adapter never retries: `turn.send_request` does.
    """

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """Yield the events of one reply."""
