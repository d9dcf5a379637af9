"""A provider on loopback that plays one row of the comparison in OpenAI's chat wire, and remembers who asked what."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

PIECES = 40
SHORTEST_PIECE = 12
CUT_SHARE = 0.6
PRICE_PER_MILLION = 10.0


@dataclass(frozen=True)
class Call:
    """One call of the tool that leaves an effect; `loose` writes the same arguments with other blanks."""

    note: str
    loose: int = 0


@dataclass(frozen=True)
class Delegate:
    """One call that starts a subagent."""

    prompt: str


@dataclass(frozen=True)
class Say:
    """What the model answers; a text without calls is its last word."""

    text: str = ""
    calls: tuple[Call | Delegate, ...] = ()
    tokens: tuple[int, int] = (100, 20)
    """What the request is said to have used: read and written."""
    cut: bool = False
    """The connection ends in the middle."""
    delay_seconds: float = 0.0


@dataclass(frozen=True)
class Speech:
    """How a contender wants to be spoken to: its tool for effects, its way to delegate, its way to finish."""

    tool: str = "act"
    argument: str = "note"
    prefix: str = ""
    delegate: str = "child"
    delegate_argument: str = "prompt"
    delegate_more: tuple[tuple[str, str], ...] = ()
    finish: str = ""
    """The tool by which a last word is given; empty where a text is enough."""

    def function(self, call: Call | Delegate) -> tuple[str, str]:
        """The name and the arguments, as JSON, of a call."""
        if isinstance(call, Delegate):
            return self.delegate, json.dumps({self.delegate_argument: call.prompt, **dict(self.delegate_more)})
        value = {self.argument: self.prefix + call.note}
        blank = " " * call.loose
        return self.tool, json.dumps(value, separators=(f"{blank},", f":{blank}"))


@dataclass(frozen=True)
class Asked:
    """One request, as it came."""

    number: int
    body: dict[str, Any]
    seconds: float

    @property
    def tools(self) -> frozenset[str]:
        """The tools that may be called: none if that is what the choice says."""
        if self.body.get("tool_choice") == "none":
            return frozenset()
        return frozenset(tool["function"]["name"] for tool in self.body.get("tools") or ())

    @property
    def words(self) -> str:
        return json.dumps(self.body["messages"])

    def prompted(self, marker: str) -> bool:
        """Whether a prompt, and not merely something said later, has this marker."""
        first = next((each for each in self.body["messages"] if each["role"] == "user"), {})
        return marker in json.dumps(first)


Script = Callable[[Asked, list[Asked]], Say]


@dataclass
class Provider:
    """Plays a script to whoever asks; `asked` holds every request, `tokens` what they are said to have used."""

    script: Script
    speech: Speech
    arrived: Callable[[Asked], None] = lambda _: None
    asked: list[Asked] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    _server: asyncio.Server | None = None
    _begin: float = field(default_factory=time.monotonic)

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    @property
    def cost(self) -> float:
        return sum(self.tokens) * PRICE_PER_MILLION / 1e6

    async def __aenter__(self) -> Provider:
        self._server = await asyncio.start_server(self._converse, "127.0.0.1", 0, limit=2**24)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
            raw = await reader.readexactly(int(fields.get("content-length", "0")))
            await self._answer(writer, json.loads(raw))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, json.JSONDecodeError):
            # A client that was killed, or that asks for something else, is not the provider's trouble.
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, body: dict[str, Any]) -> None:
        asked = Asked(len(self.asked) + 1, body, time.monotonic() - self._begin)
        self.asked.append(asked)
        say = self.script(asked, self.asked)
        self.tokens.append(sum(say.tokens))
        self.arrived(asked)
        await asyncio.sleep(say.delay_seconds)
        data = streamed(say, self.speech, asked) if body.get("stream") else whole(say, self.speech, asked)
        kind = "text/event-stream" if body.get("stream") else "application/json"
        # The length is told, so that a cut is one for everybody.
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + (data[: int(len(data) * CUT_SHARE)] if say.cut else data))


def spoken(say: Say, speech: Speech, asked: Asked) -> tuple[str, list[dict[str, Any]]]:
    """The text and the calls of a reply, in the contender's manner."""
    functions = [speech.function(call) for call in say.calls]
    if not functions and speech.finish and speech.finish in asked.tools:
        name, key, words = FINISHES[speech.finish]
        functions = [(name, json.dumps({key: words.format(say.text)}))]
    calls = [
        {"id": f"call_{asked.number}_{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(functions)
    ]
    return say.text, calls


FINISHES = {
    "final_answer": ("final_answer", "answer", "{}"),
    "bash": ("bash", "command", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && echo '{}'"),
}


def used(say: Say) -> dict[str, int]:
    read, written = say.tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def whole(say: Say, speech: Speech, asked: Asked) -> bytes:
    text, calls = spoken(say, speech, asked)
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    reply = {"id": f"r{asked.number}", "object": "chat.completion", "created": 1, "model": asked.body["model"]}
    return json.dumps({**reply, "choices": [choice], "usage": used(say)}).encode()


def streamed(say: Say, speech: Speech, asked: Asked) -> bytes:
    text, calls = spoken(say, speech, asked)
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    size = max(SHORTEST_PIECE, len(text) // PIECES)
    deltas += [{"content": text[at : at + size]} for at in range(0, len(text), size)]
    deltas += [{"tool_calls": [{"index": at, **call}]} for at, call in enumerate(calls)]
    head = {"id": f"r{asked.number}", "object": "chat.completion.chunk", "created": 1, "model": asked.body["model"]}
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}])
    events: list[dict[str, Any]] = [{**head, "choices": choice} for choice in choices]
    events.append({**head, "choices": [], "usage": used(say)})
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"
