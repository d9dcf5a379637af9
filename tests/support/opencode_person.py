"""A client over HTTP as OpenCode's SDK is one: its requests, and a stream that it reads all the time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import msgspec

from bridle import Runtime
from support.opencode_client import Client
from support.opencode_packages import installed
from support.opencode_schema import Answer, Published
from support.opencode_server import served

PATIENCE = 60.0
"""Seconds after which something hangs."""
STORY_SECONDS = 240.0


class Person:
    """Sends requests and knows what the stream has told."""

    def __init__(self, http: httpx2.AsyncClient, answers: list[Answer]) -> None:
        self.http, self.answers = http, answers
        self.seen: list[dict[str, Any]] = []
        self.clients: dict[str, Client] = {}
        self._more = asyncio.Event()

    async def get(self, path: str, status: int = 200) -> Any:
        answer = await self.http.get(path)
        assert answer.status_code == status, (path, answer.status_code, answer.text)
        return answer.json()

    async def post(self, path: str, body: Any = None, status: int = 200, method: str = "POST") -> Any:
        answer = await self.http.request(method, path, json=body if body is not None else {})
        assert answer.status_code == status, (path, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    async def session(self, **given: Any) -> str:
        return str((await self.post("/session", given))["id"])

    async def prompt(self, session: str, text: str, **more: Any) -> Any:
        return await self.post(f"/session/{session}/message", {"parts": [{"type": "text", "text": text}], **more})

    async def later(self, session: str, text: str, **more: Any) -> None:
        body = {"parts": [{"type": "text", "text": text}], **more}
        await self.post(f"/session/{session}/prompt_async", body, 204)

    async def read(self, path: str = "/event") -> None:
        """Read a stream until the end, and apply its events."""
        async with self.http.stream("GET", path, timeout=None) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            async for line in answer.aiter_lines():
                if not line.startswith("data: "):
                    assert line == "", line
                    continue
                event = msgspec.json.decode(line.removeprefix("data: "))
                event = event.get("payload", event)
                self.seen.append(event)
                session = event["properties"].get("sessionID")
                if session is not None:
                    self.clients.setdefault(session, Client()).apply(event["type"], event["properties"])
                self._more.set()

    async def until(self, found: Callable[[], Any]) -> Any:
        """Wait until the stream has told something."""
        async with asyncio.timeout(PATIENCE):
            while not (value := found()):
                self._more.clear()
                await self._more.wait()
        return value

    async def told(self, kind: str, session: str) -> Any:
        """Return the first event of a type in a session, once it has come."""
        return await self.until(lambda: next(self.of(kind, session), None))

    def of(self, kind: str, session: str) -> Any:
        found = (event["properties"] for event in self.seen if event["type"] == kind)
        return (each for each in found if each["sessionID"] == session)

    async def idle(self, session: str, times: int = 1) -> None:
        await self.until(lambda: len(list(self.of("session.idle", session))) >= times)

    async def shows_what_is_listed(self, session: str) -> None:
        """What the stream has told is what the server lists."""
        assert self.clients[session].listed() == await self.get(f"/session/{session}/message")


@asynccontextmanager
async def person(runtime: Runtime, stream: str = "/event") -> AsyncIterator[Person]:
    """A person at a server of this runtime, with an open stream."""
    answers: list[Answer] = []
    async with (
        served(runtime, answers=answers) as address,
        httpx2.AsyncClient(base_url=address, timeout=PATIENCE) as http,
        reading(Person(http, answers), stream) as one,
    ):
        yield one


def tell(opened: Callable[[], Runtime], work: Callable[[Person], Awaitable[None]]) -> None:
    """Tell a story of a person; all that the server answers fits the published schema."""

    async def told() -> list[Answer]:
        runtime = opened()
        async with runtime, person(runtime) as one:
            await work(one)
            return one.answers

    answers = asyncio.run(asyncio.wait_for(told(), STORY_SECONDS))
    published = Published(installed().published())
    assert [fault for answer in answers for fault in published.faults(answer)] == []


@asynccontextmanager
async def another(one: Person, stream: str) -> AsyncIterator[Person]:
    """Another person at the same server."""
    async with reading(Person(one.http, one.answers), stream) as other:
        yield other


@asynccontextmanager
async def reading(one: Person, stream: str) -> AsyncIterator[Person]:
    """A person whose stream is open inside the context."""
    task = asyncio.create_task(one.read(stream))
    try:
        await one.until(lambda: one.seen or task.done())
        yield one
    finally:
        task.cancel()
        await asyncio.wait([task])
