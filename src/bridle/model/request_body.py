"""Shared by the three wires: request bodies from pieces encoded once, and token usage in disjoint fields."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from bridle.core.messages import Message
from bridle.core.states import Usage
from bridle.core.stream import Error, ToolSpec
from bridle.values.options import RESERVED_OPTIONS

ODD_LETTERS = re.compile(r"[^a-zA-Z0-9_-]")


class JsonForm:
    """Messages encoded as the items of a JSON array. See `Form`."""

    def __init__(self, encode: Callable[[Message], Iterable[Any]]) -> None:
        self.count = 0
        self.items = bytearray()
        self._encode = encode

    def add(self, message: Message) -> None:
        for piece in self._encode(message):
            if self.items:
                self.items += b","
            self.items += msgspec.json.encode(piece)

    def closed(self) -> bytes | bytearray:
        """Return all messages so far, without brackets."""
        return self.items


class ToolsForm:
    """The tools of a turn, encoded once, because they are the same in each request."""

    def __init__(self, encode: Callable[[Sequence[ToolSpec]], Any]) -> None:
        self._encode = encode
        self._specs: tuple[ToolSpec, ...] = ()
        self._form = msgspec.Raw(b"[]")

    def of(self, specs: tuple[ToolSpec, ...]) -> msgspec.Raw:
        if specs is not self._specs:
            self._specs, self._form = specs, msgspec.Raw(msgspec.json.encode(self._encode(specs)))
        return self._form


def request_body(
    head: Mapping[str, Any],
    key: str,
    items: bytes | bytearray,
    fixed: Mapping[str, Any],
    options: Mapping[str, Any],
) -> bytes:
    """Return a JSON object: the constant part first, then the messages, then the part that may change per step.

    `fixed` wins over options; reserved options are dropped.
    """
    allowed = {name: value for name, value in options.items() if name not in RESERVED_OPTIONS}
    front, back = msgspec.json.encode(head), msgspec.json.encode({**fixed, **allowed, **fixed})
    return b"".join((front[:-1], b',"', key.encode(), b'":[', items, b"],", back[1:]))


def wire_id(id: str) -> str:
    """Return a call id in characters that every provider accepts."""
    return id.replace(".", "-")


def wire_name(name: str) -> str:
    """Return a tool name that every provider accepts: a model may invent any name, which stays in the history."""
    return ODD_LETTERS.sub("_", name)[:64] or "unnamed"


def data_address(media: str, data: str) -> str:
    """Return base64 data as a `data:` URL."""
    return f"data:{media};base64,{data}"


Decoded = TypeVar("Decoded")


def decoded(decoder: msgspec.json.Decoder[Decoded], data: bytes) -> Decoded | Error:
    """Decode an event of a stream. Invalid UTF-8 is replaced; anything else that is invalid becomes an `Error`."""
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        try:
            # Slower but lenient: it accepts lone surrogates, which are replaced later.
            value: Decoded = msgspec.convert(json.loads(data.decode("utf-8", "replace")), decoder.type)
            return value
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return Error(f"the provider sent an event that makes no sense: {error}", retryable=True)


def json_text(value: Any) -> str:
    """Return the JSON of a value from a server, which may contain lone surrogates."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(value)


def count_of(value: Any) -> int | None:
    """Return a token count as an integer; None if the value is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) == float("inf"):
        return None
    return int(value)


def inner(value: Any, key: str) -> dict[str, Any]:
    """Return the object under a key, or an empty one if the server omits or garbles it."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def disjoint(
    all_input: Any, all_output: Any, *, cache_read: Any = 0, cache_write: Any = 0, reasoning: Any = 0
) -> Usage | None:
    """Return usage from totals that include cached and reasoning tokens; None if unknown."""
    reads, writes = count_of(all_input), count_of(all_output)
    if reads is None or writes is None:
        return None
    cached = min(max(0, count_of(cache_read) or 0), max(0, reads))
    written = min(max(0, count_of(cache_write) or 0), max(0, reads - cached))
    thought = min(max(0, count_of(reasoning) or 0), max(0, writes))
    return Usage(reads - cached - written, writes - thought, thought, cached, written)
