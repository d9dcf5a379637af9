"""What providers send: split into events, and read by each of the three wires, wherever the network cuts it."""

import asyncio
import re
import zlib
from collections.abc import Callable, Iterator
from random import Random
from typing import get_args

from bridle.core.stream import Alive, ModelError, ReasoningDelta, Start, StepBegin, StreamEnd, StreamEvent, TextDelta
from bridle.model.anthropic import AnthropicReply
from bridle.model.http import Lane
from bridle.model.openai_chat import ChatReply
from bridle.model.openai_responses import ResponsesReply
from bridle.model.sse import EventParts
from bridle.model.wire_model import StreamedReply, talk
from fuzz.target import Target

EVENTS = get_args(StreamEvent)
UNTIMED = (Alive, Start, StepBegin)
"""Signs of life, which come as often as chunks do."""


def chunkings(data: bytes) -> Iterator[list[bytes]]:
    """The whole, every byte alone, and two ways that the bytes themselves choose."""
    yield [data]
    yield [data[place : place + 1] for place in range(len(data))]
    for salt in (1, 2):
        random = Random(zlib.crc32(data, salt))
        cuts = sorted(random.randint(0, len(data)) for _ in range(random.choice((1, 3, 20))))
        yield [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def split_at_once(data: bytes) -> list[bytes]:
    """The standard's own words for it, on a body that is all there: the reference for what is split as it comes."""
    events: list[bytes] = []
    held: list[bytes] = []
    for line in [*re.split(rb"\r\n|\n|\r", data.removeprefix(b"\xef\xbb\xbf")), b""]:
        field, _, value = line.partition(b":")
        if field == b"data":
            held.append(value.removeprefix(b" "))
        elif not line and held:
            events.append(b"\n".join(held))
            held = []
    return events


def splits(data: bytes) -> None:
    wanted = split_at_once(data)
    for chunks in chunkings(data):
        parts = EventParts()
        found = [event for chunk in chunks for event in parts.feed(chunk)]
        assert [*found, *parts.end()] == wanted


class Recorded(Lane):
    """A lane on which the chunks have come already."""

    def __init__(self, chunks: list[bytes]) -> None:
        super().__init__("http://127.0.0.1:1", dict)
        self._chunks = chunks

    async def post(self, path, body, headers):
        parts = EventParts()
        for chunk in self._chunks:
            yield parts.feed(chunk)
        if found := parts.end():
            yield found


def read(reply: StreamedReply, chunks: list[bytes]) -> list[StreamEvent]:
    async def work() -> list[StreamEvent]:
        return [event async for event in talk(Recorded(chunks), "/", bytes, reply, {})]

    return asyncio.run(work())


def joined(events: list[StreamEvent]) -> list[StreamEvent]:
    """Words that come together are one piece, so the chunking may show in how many there are, and in nothing else."""
    found: list[StreamEvent] = []
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, (TextDelta, ReasoningDelta)) and type(event) is type(last):
            found[-1] = type(event)(last.text + event.text)
        else:
            found.append(event)
    return found


def reads(made: Callable[[], StreamedReply]) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        told = []
        for chunks in chunkings(data):
            events = read(made(), chunks)
            assert all(isinstance(event, EVENTS) for event in events)
            assert not any(isinstance(event, (ModelError, StreamEnd)) for event in events[:-1]), (
                "something follows the end"
            )
            told.append(joined([event for event in events if not isinstance(event, UNTIMED)]))
        assert all(events == told[0] for events in told), "another chunking, another reply"

    return check


def stream(*events: str) -> bytes:
    return "".join(f"data: {event}\n\n" for event in events).encode()


CHAT = (
    stream(
        '{"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Hm"}}]}',
        '{"choices":[{"index":0,"delta":{"content":"Hel"}}]}',
        '{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"lo"}]}}]}',
        '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read",'
        '"arguments":"{\\"filePath\\":"}}]}}]}',
        '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\\"x\\"}"}}]}}]}',
        '{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,'
        '"completion_tokens":3,"total_tokens":20,"prompt_tokens_details":{"cached_tokens":4}}}',
        "[DONE]",
    ),
    stream(
        '{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}}]}',
        '{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"b","index":0}]}}]}',
        '{"choices":[{"delta":{"tool_calls":[{"id":"z","function":{"name":"ls","arguments":{"a":1}},'
        '"extra_content":{"google":{"thought_signature":"s"}}}]},"finish_reason":"stop"}]}',
        '{"error":{"message":"overloaded, try again in 2 seconds","code":529}}',
    ),
)
RESPONSES = (
    stream(
        '{"type":"response.created","response":{"id":"r"}}',
        '{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"i"}}',
        '{"type":"response.reasoning_summary_part.added","output_index":0}',
        '{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"Hm"}',
        '{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","encrypted_content":"e"}}',
        '{"type":"response.output_text.delta","output_index":1,"delta":"Hello"}',
        '{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","name":"read"}}',
        '{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{}"}',
        '{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","name":"read",'
        '"arguments":"{}"}}',
        '{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":9,"output_tokens":3,'
        '"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":1}}}}',
    ),
    stream(
        '{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"x"}}}',
        '{"type":"response.failed","response":{"error":{"code":"server_error","message":"no"}}}',
    ),
)
MESSAGES = (
    b"event: message_start\n"
    + stream(
        '{"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}',
        '{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}',
        '{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}',
        '{"type":"content_block_stop","index":0}',
        '{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"He"}}',
        '{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"llo"}}',
        '{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","name":"read","input":{}}}',
        '{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}',
        '{"type":"content_block_start","index":3,"content_block":{"type":"redacted_thinking","data":"d"}}',
        '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}',
        '{"type":"message_stop"}',
    ),
    stream('{"type":"ping"}', '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
)
LINES = (b"data: ", b"data:", b"data", b"\r", b"\r\n\r\n", b"\n\n", b": ping\n", b"event: x\n", b"id: 1\n", b"[DONE]")
KEYS = (b'"index"', b'"type"', b'"text"', b'"usage"', b'"delta"', b'"output_index"', b'"error"', b'"message"')

ONE = "Any chunking gives the same reply, in declared events alone, of which nothing follows the one end."
TARGETS = (
    Target(
        "sse",
        "Any chunking gives the events that the standard gives for the whole body.",
        splits,
        (b"\xef\xbb\xbf: hi\r\ndata: a\rdata:b\n\ndata\n\nevent: x\ndata:  c\n\r\n", CHAT[0]),
        LINES,
        250,
    ),
    Target("chat", ONE, reads(ChatReply), CHAT, (*LINES, *KEYS, b'"tool_calls"', b'"finish_reason"'), 100),
    Target("responses", ONE, reads(ResponsesReply), RESPONSES, (*LINES, *KEYS, b"response.done"), 100),
    Target("messages", ONE, reads(AnthropicReply), MESSAGES, (*LINES, *KEYS, b"content_block_stop"), 100),
)
