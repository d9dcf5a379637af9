"""`request_body`: joins messages, encoded once (`JsonForm`), to a request's JSON for all three provider APIs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from bridle.core.messages import Message
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
