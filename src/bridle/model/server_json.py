"""Reads JSON and token counts from model servers, whose values may be missing, garbled or of another type."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

from bridle.core.states import Usage

Decoded = TypeVar("Decoded")


def decoded(decoder: msgspec.json.Decoder[Decoded], data: bytes) -> Decoded:
    """Decode an event of a stream, where invalid UTF-8 is replaced; raises errors of msgspec and json."""
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        # Slower but lenient: it accepts lone surrogates, which are replaced later.
        value: Decoded = msgspec.convert(json.loads(data.decode("utf-8", "replace")), decoder.type)
        return value


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
