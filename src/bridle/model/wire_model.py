"""`WireModel`, base of the Anthropic, OpenAI Chat and Responses adapters: sends a request, feeds the reply's parser."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, ClassVar, Protocol

import msgspec

from bridle.core import stream
from bridle.core.agent import ModelInfo
from bridle.model.http import Lane
from bridle.values.provider import Quirks

DRAIN_SECONDS = 0.1


class WireModel(ABC):
    """A model behind a provider's HTTP API. See `Model`."""

    path: ClassVar[str]

    def __init__(self, lane: Lane, name: str, info: ModelInfo, quirks: Quirks | None = None) -> None:
        self.info = info
        self.name = name
        self.quirks = quirks or Quirks()
        self._lane = lane
        self._specs: tuple[stream.ToolSpec, ...] = ()
        self._tools = msgspec.Raw(b"[]")

    @abstractmethod
    def body(self, request: stream.ModelRequest) -> bytes:
        """Return the JSON body of a request."""

    @abstractmethod
    def reply(self) -> StreamedReply:
        """Return a parser for one reply."""

    @abstractmethod
    def tool(self, spec: stream.ToolSpec) -> dict[str, Any]:
        """Return the declaration of a tool."""

    def tools(self, specs: tuple[stream.ToolSpec, ...]) -> msgspec.Raw:
        """Return the declarations of a turn's tools, encoded once, because they are the same in each request."""
        if specs is not self._specs:
            self._specs, self._tools = specs, msgspec.Raw(msgspec.json.encode([self.tool(spec) for spec in specs]))
        return self._tools

    def stream(self, request: stream.ModelRequest) -> AsyncIterator[stream.StreamEvent]:
        return talk(self._lane, self.path, partial(self.body, request), self.reply(), request.headers)


class StreamedReply(Protocol):
    """Parser of one reply, from a wire's events to stream events.

    `read` is not called after `done` or `failed`. Both methods may raise for input that makes no sense; `heard` turns
    that into a `ModelError`.
    """

    done: bool
    """The terminator has arrived."""
    failed: bool
    """The reply reported a failure or was invalid; a `ModelError` was yielded."""

    def read(self, data: bytes) -> Iterator[stream.StreamEvent]:
        """Yield the stream events for one event of the wire."""

    def end(self) -> Iterator[stream.StreamEvent]:
        """Yield the remaining events at the end of the body; none if the reply was cut off or has failed."""


async def talk(
    lane: Lane, path: str, body: Callable[[], bytes], reply: StreamedReply, headers: Mapping[str, str]
) -> AsyncGenerator[stream.StreamEvent, None]:
    """Send a request and yield the events of its reply. All native wires use this function."""
    started = False
    try:
        sent = body()
    except (ValueError, TypeError, msgspec.MsgspecError) as error:
        yield stream.ModelError(f"the request could not be written: {error}", retryable=False)
        return
    async with aclosing(lane.post(path, sent, headers)) as chunks:
        async for found in chunks:
            if isinstance(found, stream.ModelError):
                yield lane.clean(found)
                return
            if not started and found:
                # Not before data has arrived, because this ends the timeout for the first event.
                started = True
                yield stream.Start()
                yield stream.StepBegin()
            told = False
            for event in heard(reply, found):
                told = True
                yield lane.clean(event) if isinstance(event, stream.ModelError) else event
            if reply.failed:
                return
            if not told:
                yield stream.Alive()
            if reply.done:
                await _drain(chunks)
                break
    for event in _guarded(reply, reply.end()):
        yield event


def heard(reply: StreamedReply, found: list[bytes]) -> Iterator[stream.StreamEvent]:
    """Yield the stream events for events of a wire. Deltas that arrived together are joined, which delays none."""
    words: list[str] = []
    kind: type[stream.TextDelta | stream.ReasoningDelta] = stream.TextDelta
    for data in found:
        if reply.done or reply.failed:
            break
        for event in _guarded(reply, reply.read(data)):
            if isinstance(event, (stream.TextDelta, stream.ReasoningDelta)) and (not words or type(event) is kind):
                kind = type(event)
                words.append(event.text)
                continue
            if words:
                yield kind("".join(words))
                words.clear()
            yield event
    if words:
        yield kind("".join(words))


def _guarded(reply: StreamedReply, events: Iterator[stream.StreamEvent]) -> Iterator[stream.StreamEvent]:
    """Yield the events of a parser. A server may send anything: unforeseen input becomes an ordinary failure."""
    try:
        yield from events
    except (LookupError, TypeError, ValueError, AttributeError, msgspec.MsgspecError, RecursionError) as error:
        reply.failed = True
        why = f"{type(error).__name__}: {error}"
        yield stream.ModelError(f"the provider sent an invalid event: {why}", retryable=True)


async def _drain(chunks: AsyncIterator[list[bytes] | stream.ModelError]) -> None:
    """Read the rest of the body for a moment, so that the connection can be reused."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in chunks:
                pass
