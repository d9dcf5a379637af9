"""`FunctionModel`: a model made of an async generator function, for a service that Bridle does not know."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable

from bridle.core.agent import ModelInfo
from bridle.core.stream import ModelRequest, StreamEnd, StreamEvent, TextDelta


class FunctionModel:
    """A model made of an async generator function, which yields pieces of text, or stream events. Implements `Model`.

    The reply ends when the function returns. If it raises, the request has failed; it may raise anything.
    """

    def __init__(
        self,
        function: Callable[[ModelRequest], AsyncIterator[str] | AsyncIterator[StreamEvent]],
        *,
        info: ModelInfo | None = None,
    ) -> None:
        self.info = info if info is not None else ModelInfo("function/model")
        self._function = function

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        events = self._function(request)
        if not isinstance(events, AsyncIterator):
            raise TypeError(f"the function of a FunctionModel is an async generator: this one returned {events!r}")
        try:
            async for event in events:
                yield TextDelta(event) if isinstance(event, str) else event
            yield StreamEnd()
        finally:
            # The connection that the function holds is closed with a reply that is cancelled.
            if isinstance(events, AsyncGenerator):
                await events.aclose()
