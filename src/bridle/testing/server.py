"""A scripted model over HTTP on loopback, in OpenAI's chat wire: for testing whatever speaks it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bridle.core.states import Usage
from bridle.core.stream import (
    Error,
    ReasoningDelta,
    StepEnd,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCall,
)
from bridle.testing.scripted import Reply, Scenario, as_reply, read_scenario, unrolled
from bridle.testing.validators import problems_in_chat

MAX_BODY = 64 * 1024 * 1024


class ScriptedServer:
    """Plays a scenario to whoever asks, in the order of the requests; a request that is not valid gets a 400.

    Use it as an async context manager; `address` is where it listens, on loopback alone.
    """

    def __init__(self, scenario: Scenario, port: int = 0) -> None:
        self._replies = unrolled(as_reply(given) for given in scenario.replies)
        self._then = None if scenario.then is None else as_reply(scenario.then)
        self._port = port
        self._server: asyncio.Server | None = None
        self.bodies: list[dict[str, Any]] = []

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> ScriptedServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            method, path, body = await _read_request(reader)
            if method == "GET" and path.endswith("/models"):
                _answer(writer, 200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})
            elif method == "POST" and path.endswith("/chat/completions"):
                await self._complete(writer, body)
            else:
                _answer(writer, 404, {"error": {"message": f"no such place: {method} {path}"}})
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            # A client that leaves or that talks nonsense is not the server's trouble.
            writer.transport.abort()
        finally:
            writer.close()

    async def _complete(self, writer: asyncio.StreamWriter, raw: bytes) -> None:
        body = msgspec.json.decode(raw, type=dict[str, Any])
        found = problems_in_chat(body.get("messages") or [])
        if found:
            _answer(writer, 400, {"error": {"message": "; ".join(found), "type": "invalid_request_error"}})
            return
        index = len(self.bodies)
        self.bodies.append(body)
        reply = self._replies[index] if index < len(self._replies) else self._then
        if reply is None:
            _answer(writer, 500, {"error": {"message": f"the script has no reply for request {index + 1}"}})
            return
        if reply.hang:
            await asyncio.Event().wait()
        await asyncio.sleep(reply.delay)
        error = reply.error
        if error is not None and not reply.text:
            _answer(writer, error.status or 500, {"error": {"message": error.message}}, error.headers)
        elif body.get("stream"):
            await _stream(writer, reply, str(body.get("model", "scripted")))
        else:
            _answer(writer, 200, _whole(reply, str(body.get("model", "scripted"))))


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
    fields = {"content-type": "application/json", "content-length": str(len(content)), **(headers or {})}
    _head(writer, status, fields)
    writer.write(content)


def _head(writer: asyncio.StreamWriter, status: int, fields: Mapping[str, str]) -> None:
    lines = "".join(f"{name}: {value}\r\n" for name, value in {**fields, "connection": "close"}.items())
    writer.write(f"HTTP/1.1 {status} Scripted\r\n{lines}\r\n".encode("latin-1"))


async def _stream(writer: asyncio.StreamWriter, reply: Reply, model: str) -> None:
    _head(writer, 200, {"content-type": "text/event-stream"})
    calls = 0
    for index, event in enumerate(reply.events()):
        if reply.cut is not None and index >= reply.cut:
            return
        if reply.pace and isinstance(event, (TextDelta, ReasoningDelta)):
            await asyncio.sleep(reply.pace)
        for chunk in _chunks(event, calls):
            writer.write(b"data: " + (chunk if isinstance(chunk, bytes) else _chunk(chunk, model)) + b"\n\n")
        await writer.drain()
        calls += isinstance(event, ToolCall)


def _chunk(fields: Mapping[str, Any], model: str) -> bytes:
    return msgspec.json.encode({"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "model": model, **fields})


def _choice(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _chunks(event: StreamEvent, calls: int) -> list[dict[str, Any] | bytes]:
    match event:
        case TextDelta(text):
            return [_choice({"content": text})]
        case ReasoningDelta(text):
            return [_choice({"reasoning_content": text})]
        case ToolCall(name, arguments, id):
            made = {"index": calls, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            return [_choice({"tool_calls": [made]})]
        case StepEnd(finish, usage):
            chunks: list[dict[str, Any] | bytes] = [_choice({}, finish)]
            if usage is not None:
                chunks.append({"choices": [], "usage": _usage(usage)})
            return chunks
        case StreamEnd():
            return [b"[DONE]"]
        case Error(message):
            return [msgspec.json.encode({"error": {"message": message}})]
    return []


def _usage(usage: Usage) -> dict[str, Any]:
    prompt = usage.input + usage.cache_read + usage.cache_write
    completion = usage.output + usage.reasoning
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


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
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "model": model,
        "choices": [choice],
        "usage": _usage(usage),
    }


def serve_scenario(path: Path, port: int, started: Callable[[str], None]) -> None:
    """Serve a scenario file until the process is told to stop."""

    async def work() -> None:
        async with ScriptedServer(read_scenario(path), port) as server:
            started(server.address)
            await asyncio.Event().wait()

    asyncio.run(work())
