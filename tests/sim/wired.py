"""A model behind one of the three wires: its words travel as bytes, through the real client, parser and adapter."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import httpx2
import msgspec
from support.wires import model_of

from bridle.core.agent import ModelInfo
from bridle.core.stream import ModelRequest, ReasoningDelta, StreamEvent, TextDelta
from bridle.model.http import Lane
from bridle.testing.scripted import Reply, as_reply
from bridle.testing.wires import WIRES
from sim.plan import Plan

ADDRESS = "http://provider.invalid/v1"
SECRET = "sk-simulated-0123456789"
SERVED = {wire.__name__.removesuffix("Wire").lower(): wire for wire in WIRES}


class WiredModel:
    """See `Model`. What its function says is sent as a provider would, and every body is checked as one would."""

    def __init__(
        self, wire: str, play: Callable[[ModelRequest], Any], plan: Plan, invalid: list[str], **info: Any
    ) -> None:
        self.info = ModelInfo(**info)
        self._wire = wire
        self._play = play
        self._plan = plan
        self._invalid = invalid
        self._given = info

    @staticmethod
    def refused(request: ModelRequest) -> list[str]:
        """The provider itself says what is wrong with a request, from its bytes."""
        return []

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        reply = as_reply(self._play(request))
        asked = len(self._plan.said[f"{request.session} {request.id}"])
        chance = random.Random(f"{self._plan.seed} {request.session} {request.id} {asked}")
        self._plan.seen[f"wire: {self._wire}: {_sort(reply)}"] += 1
        provider = Provider(reply, self._wire, chance, self._invalid)
        model = model_of(self._wire, SimLane(provider), **self._given)
        async with aclosing(model.stream(request)) as events:
            async for event in events:
                yield event


class SimLane(Lane):
    """A lane whose client ends at the provider, without a socket between them."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(ADDRESS, lambda: {"authorization": f"Bearer {SECRET}"})
        self._provider = httpx2.AsyncClient(transport=provider, trust_env=False)

    def client(self) -> httpx2.AsyncClient:
        return self._provider


class Provider(httpx2.AsyncBaseTransport):
    """What one request meets: a refusal, a stream that is cut into any pieces, or nothing at all."""

    def __init__(self, reply: Reply, wire: str, chance: random.Random, invalid: list[str]) -> None:
        self._reply = reply
        self._wire = wire
        self._chance = chance
        self._invalid = invalid

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = msgspec.json.decode(await request.aread())
        self._invalid += [f"{self._wire}: {problem}" for problem in SERVED[self._wire].problems(body)]
        reply = self._reply
        if reply.hang:
            await asyncio.Event().wait()
        await asyncio.sleep(reply.delay)
        error = reply.error
        if error is not None and not reply.text:
            words = "prompt is too long" if error.overflow else error.message
            # Some repeat the key that they were given.
            refusal = {"error": {"message": f"{words} for {SECRET}"}}
            return httpx2.Response(error.status or 500, json=refusal, headers=dict(error.headers), request=request)
        kind = {"content-type": "text/event-stream; charset=utf-8"}
        return httpx2.Response(200, headers=kind, stream=Body(self), request=request)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body, event by event as the reply says, each in pieces as the network likes."""
        reply, chance = self._reply, self._chance
        wire = SERVED[self._wire]()
        line = chance.choice([b"\n", b"\n", b"\r\n", b"\r"])
        yield chance.choice([b"", b"", b"\xef\xbb\xbf", b": hello" + line])
        for index, event in enumerate(reply.events()):
            if reply.cut is not None and index >= reply.cut:
                if chance.random() < 0.5:
                    raise httpx2.ReadError("the connection was reset")
                return
            if reply.pace and isinstance(event, (TextDelta, ReasoningDelta)):
                await asyncio.sleep(reply.pace)
            for data in wire.data(event):
                if chance.random() < 0.1:
                    yield b": still here" + line + line
                for piece in _cut(data.replace(b"\n", line), chance):
                    yield piece


class Body(httpx2.AsyncByteStream):
    """A body on its way."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._provider.pieces():
            if piece:
                yield piece


def _sort(reply: Reply) -> str:
    if reply.hang:
        return "hangs"
    if reply.error is not None:
        return "breaks off" if reply.text else "refuses"
    if reply.cut is not None:
        return "is cut"
    return "calls" if reply.calls else "speaks"


def _cut(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """All of it, in up to three pieces."""
    places = sorted(chance.randint(0, len(data)) for _ in range(chance.choice([0, 0, 1, 2])))
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        yield data[start:end]
