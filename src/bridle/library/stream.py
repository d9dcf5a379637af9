"""`Stream`: async iterator over the events of a run, also as text, SSE or growing output; the result comes last."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Generic, TypeVar

import msgspec

from bridle.core.result import Result
from bridle.errors import BridleError
from bridle.turn.output_schema import OUTPUT, OutputSchema
from bridle.wire.events import DeltaEvent, ErrorEvent, Event, RemovedEvent, ToolUseEvent

Output = TypeVar("Output")


class Stream(Generic[Output]):
    """An async iterator over the public events of a run; the last one is a `ResultEvent`.

    Closing or dropping it before its end aborts the turn. Use it with `async with`: Python notices that a stream was
    dropped only when it is collected, which may be late if an exception holds the frame that used it.
    """

    def __init__(
        self, events: AsyncGenerator[Event, None], results: list[Result[Output]], schema: Mapping[str, Any] | None
    ) -> None:
        self._events = events
        self._results = results
        self._answer = OutputSchema(schema or {})

    def __aiter__(self) -> Stream[Output]:
        return self

    async def __anext__(self) -> Event:
        return await self._events.__anext__()

    async def __aenter__(self) -> Stream[Output]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the run if it has not ended. May be called twice."""
        await self._events.aclose()

    @property
    def result(self) -> Result[Output]:
        """The result; raises `BridleError` before the last event was read."""
        if not self._results:
            raise BridleError("the stream has not ended: read its events to the last one first")
        return self._results[0]

    async def text(self) -> AsyncIterator[str]:
        """Yield the text of the model as it arrives. A retried reply starts again."""
        async for event in self:
            if isinstance(event, DeltaEvent) and event.kind == "text":
                yield event.text

    async def sse(self) -> AsyncIterator[str]:
        """Yield the events as server-sent events, for the streaming response of any web framework; then end the run.

        A client that disconnects aborts the turn. A run that is refused sends an `ErrorEvent`.
        """
        try:
            async with self:
                async for event in self:
                    yield _sent(event)
        except BridleError as error:
            yield _sent(ErrorEvent(session="", message=str(error)))

    async def outputs(self) -> AsyncIterator[Any]:
        """Yield the output as JSON data while it grows, and finally the output in its type."""
        growing: dict[str, str] = {}
        last: Any = None
        async for event in self:
            match event:
                case ToolUseEvent(state="pending") if event.tool == OUTPUT:
                    growing[event.id] = ""
                case RemovedEvent():
                    for part in event.parts:
                        growing.pop(part, None)
                case DeltaEvent(kind="arguments") if event.part in growing:
                    growing[event.part] += event.text
                    partial = self._answer.growing(growing[event.part])
                    if partial not in (None, "", last):
                        last = partial
                        yield partial
        yield self.result.output


def _sent(event: Event) -> str:
    return f"data: {msgspec.json.encode(event).decode()}\n\n"
