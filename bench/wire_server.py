"""A provider on loopback that speaks OpenAI's chat wire: it asks for call after call, or writes one long text.

The address says what it answers: `/steps/200/together/v1` asks for 200 calls and then ends, `/reads/200/together/v1`
asks to read 200 lines of a file, `/text/20000/apart/v1` writes 20,000 pieces of text. Together, the events of a reply
share HTTP chunks; apart, each is an HTTP chunk of its own and, in a step, comes a millisecond after the one before.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
TEXT = "I add the next pair of numbers now. ".ljust(200, "-")
PIECES = 5
PAUSE_SECONDS = 0.001
TOGETHER_EVENTS = 100
WRITE_CHUNKS = 400
READ_FILE = "numbers.txt"


def event(delta: dict[str, Any] | None, finish: str | None = None, usage: dict[str, int] | None = None) -> bytes:
    """One server-sent event of a reply; without a delta it carries the usage alone."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk: dict[str, Any] = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunk["choices"] = choices
    if usage is not None:
        chunk["usage"] = usage
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


def ending(finish: str, tokens: int) -> list[bytes]:
    usage = {"prompt_tokens": tokens, "completion_tokens": 60, "total_tokens": tokens + 60}
    return [event({}, finish), event(None, usage=usage), b"data: [DONE]\n\n"]


def step_events(step: int, steps: int, tokens: int, kind: str = "steps") -> list[bytes]:
    """The reply of one step: words and one call, until the last one, which says that all is done."""
    name, pieces = "add", ('{"a": ', f"{step}, ", '"b": 1}')
    if kind == "reads":
        name, pieces = "read", (f'{{"filePath": "{READ_FILE}", ', f'"offset": {step}, ', '"limit": 1}')
    begin = event({"role": "assistant", "content": ""})
    if step > steps:
        return [begin, event({"content": "done"}), *ending("stop", tokens)]
    size = len(TEXT) // PIECES
    words = [event({"content": TEXT[at : at + size]}) for at in range(0, len(TEXT), size)]
    call = {"index": 0, "id": f"call_{step}", "type": "function", "function": {"name": name, "arguments": ""}}
    deltas = [event({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces]
    return [begin, *words, event({"tool_calls": [call]}), *deltas, *ending("tool_calls", tokens)]


@lru_cache
def text_events(count: int) -> list[bytes]:
    """One long reply."""
    # No two pieces are the same: a text that repeats itself is one that Bridle ends.
    words = [event({"content": f"{number * 2_654_435_761 % 2**32:08x} is "}) for number in range(count)]
    return [event({"role": "assistant", "content": ""}), *words, *ending("stop", 100)]


def framed(data: bytes) -> bytes:
    """An HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


@lru_cache
def text_chunks(count: int, shape: str) -> list[bytes]:
    """The body of one long reply, in the pieces that are written at once."""
    events, share = text_events(count), TOGETHER_EVENTS if shape == "together" else 1
    chunks = [framed(b"".join(events[at : at + share])) for at in range(0, len(events), share)]
    size = WRITE_CHUNKS // share
    return [b"".join(chunks[at : at + size]) for at in range(0, len(chunks), size)]


async def answer(writer: asyncio.StreamWriter, path: str, body: bytes) -> None:
    _, kind, count, shape, *_ = path.split("/")
    writer.write(HEAD)
    if kind == "text":
        for chunk in text_chunks(int(count), shape):
            writer.write(chunk)
            await writer.drain()
    else:
        # Each result of a call names its call, on every client's wire: so many steps are behind us.
        step = body.count(b'"tool_call_id"') + 1
        # Without tools it is asked for something else, such as a title.
        steps = int(count) if kind == "steps" or b'"tools"' in body else 0
        events = step_events(step, steps, len(body) // 4, kind)
        if shape == "together":
            events = [b"".join(events)]
        for each in events:
            writer.write(framed(each))
            await asyncio.sleep(PAUSE_SECONDS if shape == "apart" else 0)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def serve(arrived: Callable[[], None]) -> tuple[asyncio.Server, int]:
    """Listen on a free port; `arrived` is called with each request, before it is answered."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                arrived()
                await answer(writer, lines[0].split(" ")[1], body)
        except (asyncio.IncompleteReadError, ConnectionError):
            # The client has all that it wanted.
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


async def main() -> None:
    server, port = await serve(lambda: None)
    print(port, flush=True)
    # Whoever started this process holds the other end, and lets go of it when it ends.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
