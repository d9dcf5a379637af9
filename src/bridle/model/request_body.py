"""What the three wires share: bodies put together from pieces that were encoded once, and usage in disjoint fields."""

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
    """Messages as the inside of a JSON array."""

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
        """All messages so far."""
        return self.items


class ToolsForm:
    """The tools of a turn, which are the same in each of its requests, encoded once."""

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
    """A JSON object: what stays the same first, then the messages, then what may change from step to step.

    Options stand over everything that is not `fixed`.
    """
    allowed = {name: value for name, value in options.items() if name not in RESERVED_OPTIONS}
    front, back = msgspec.json.encode(head), msgspec.json.encode({**fixed, **allowed, **fixed})
    return b"".join((front[:-1], b',"', key.encode(), b'":[', items, b"],", back[1:]))


def wire_id(id: str) -> str:
    """The id of a call in letters that every provider takes."""
    return id.replace(".", "-")


def wire_name(name: str) -> str:
    """The name of a tool as every provider takes it: a model may have made up any name, and it stays in the history."""
    return ODD_LETTERS.sub("_", name)[:64] or "unnamed"


def data_address(media: str, data: str) -> str:
    """Base64 data as an address that carries it."""
    return f"data:{media};base64,{data}"


Decoded = TypeVar("Decoded")


def decoded(decoder: msgspec.json.Decoder[Decoded], data: bytes) -> Decoded | Error:
    """An event of a stream; letters that are broken become marks, anything else that is broken is a failure."""
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        try:
            # Slower, and more patient: half a character is read as such, and becomes a mark later.
            value: Decoded = msgspec.convert(json.loads(data.decode("utf-8", "replace")), decoder.type)
            return value
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return Error(f"the provider sent an event that makes no sense: {error}", retryable=True)


def json_text(value: Any) -> str:
    """JSON of something that a server has sent, which may hold half a character."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(value)


def count_of(value: Any) -> int | None:
    """A number of tokens, if it is one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) == float("inf"):
        return None
    return int(value)


def inner(value: Any, key: str) -> dict[str, Any]:
    """The object under a key, or an empty one: what a server leaves out or garbles counts for nothing."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def disjoint(
    all_input: Any, all_output: Any, *, cache_read: Any = 0, cache_write: Any = 0, reasoning: Any = 0
) -> Usage | None:
    """Usage from totals that count cached and thinking tokens a second time; None where there is no telling."""
    reads, writes = count_of(all_input), count_of(all_output)
    if reads is None or writes is None:
        return None
    cached = min(max(0, count_of(cache_read) or 0), max(0, reads))
    written = min(max(0, count_of(cache_write) or 0), max(0, reads - cached))
    thought = min(max(0, count_of(reasoning) or 0), max(0, writes))
    return Usage(reads - cached - written, writes - thought, thought, cached, written)
