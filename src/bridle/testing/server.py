"""`ScriptedServer`: plays a scenario over HTTP on loopback, as a server of the chat, responses or messages API."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from bridle.core.states import Usage
from bridle.core.stream import StepEnd, ToolCall
from bridle.testing.scripted import Reply, Scenario, as_reply, read_scenario, unrolled
from bridle.testing.wires import WIRES, Wire, chat_usage

MAX_BODY = 64 * 1024 * 1024


class ScriptedServer:
    """A server that plays a scenario in the order of requests; an invalid request gets a 400.

    Use it as an async context manager. `address` is its URL, on loopback only.
    """

    def __init__(self, scenario: Scenario, port: int = 0) -> None:
        self._replies = unrolled(as_reply(given) for given in scenario.replies)
        self._then = None if scenario.then is None else as_reply(scenario.then)
        self._port = port
        self._server: asyncio.Server | None = None
        self.bodies: list[dict[str, Any]] = []

    running: ClassVar[set[ScriptedServer]] = set()
    """The servers of this process; `forbid_requests` allows requests to them."""

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> ScriptedServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self.running.add(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self.running.discard(self)
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            method, path, body = await _read_request(reader)
            wire = next((wire for wire in WIRES if path.endswith(wire.path)), None)
            if method == "GET" and path.endswith("/models"):
                _answer(writer, 200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
            elif method == "POST" and wire is not None:
                await self._complete(writer, body, wire)
            else:
                _answer(writer, 404, {"error": {"message": f"not found: {method} {path}"}})
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            # A client that disconnects or sends invalid HTTP must not stop the server.
            writer.transport.abort()
        finally:
            writer.close()

    async def _complete(self, writer: asyncio.StreamWriter, raw: bytes, wire: type[Wire]) -> None:
        body = msgspec.json.decode(raw, type=dict[str, Any])
        if found := wire.problems(body):
            _answer(writer, 400, {"error": {"message": "; ".join(found), "type": "invalid_request_error"}})
            return
        index = len(self.bodies)
        self.bodies.append(body)
        reply = self._replies[index] if index < len(self._replies) else self._then
        if reply is None:
            _answer(writer, 500, {"error": {"message": f"the script has no reply for request {index + 1}"}})
            return
        await reply.wait()
        error, model = reply.error, str(body.get("model", "scripted"))
        if error is not None and not reply.text:
            _answer(writer, error.status or 500, {"error": {"message": error.message}}, error.headers)
        elif body.get("stream"):
            await _stream(writer, reply, wire(model))
        else:
            _answer(writer, 200, _whole(reply, model))


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(fields.get("content-length", "0"))
    if not 0 <= length <= MAX_BODY:
        raise ValueError("the body is too long")
    return method, path, await reader.readexactly(length)


def _answer(writer: asyncio.StreamWriter, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
    content = msgspec.json.encode(body)
    fields = {"content-type": "application/json", "content-length": str(len(content))}
    _head(writer, status, {**fields, **(headers or {})})
    writer.write(content)


def _head(writer: asyncio.StreamWriter, status: int, fields: Mapping[str, str]) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in {**fields, "connection": "close"}.items())
    writer.write(f"HTTP/1.1 {status} Scripted\r\n{lines}\r\n".encode("latin-1"))


async def _stream(writer: asyncio.StreamWriter, reply: Reply, wire: Wire) -> None:
    _head(writer, 200, {"content-type": "text/event-stream"})
    async for event in reply.paced():
        writer.write(b"".join(wire.data(event)))
        await writer.drain()


def _whole(reply: Reply, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    finish, usage = "stop", Usage()
    for event in reply.events():
        if isinstance(event, ToolCall):
            made = {"id": event.id, "type": "function", "function": {"name": event.name, "arguments": event.arguments}}
            message.setdefault("tool_calls", []).append(made)
        elif isinstance(event, StepEnd):
            finish, usage = event.finish, event.usage or usage
    choice = {"index": 0, "message": message, "finish_reason": finish}
    named = {"id": "chatcmpl-scripted", "object": "chat.completion", "model": model}
    return {**named, "choices": [choice], "usage": chat_usage(usage)}


def serve_scenario(path: Path, port: int, started: Callable[[str], None]) -> None:
    """Serve a scenario file until SIGINT or SIGTERM, even if the parent process ignores these signals.

    Raises `KeyboardInterrupt` at the end.
    """

    async def work() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with ScriptedServer(read_scenario(path), port) as server:
            started(server.address)
            await stop.wait()

    asyncio.run(work())
    raise KeyboardInterrupt
