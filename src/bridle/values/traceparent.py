"""The W3C's `traceparent`: how a span of a distributed trace is named in headers, variables and metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_SHAPE = re.compile(r"[0-9a-f]{2}-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(-.*)?")


class TracePlace(NamedTuple):
    """A span, as another program refers to it."""

    trace: int
    span: int
    sampled: bool


def traceparent_in(metadata: Mapping[str, Any]) -> str:
    """Return the span that a prompt's metadata name as their caller; empty if they name none. It is not checked."""
    given = metadata.get("traceparent")
    return given if isinstance(given, str) else ""


def read_traceparent(text: str) -> TracePlace | None:
    """Return the span of a `traceparent`; None if it is invalid."""
    found = _SHAPE.fullmatch(text) if not text.startswith("ff") else None
    if found is None or not int(found["trace"], 16) or not int(found["span"], 16):
        return None
    return TracePlace(int(found["trace"], 16), int(found["span"], 16), bool(int(found["flags"], 16) & 1))


def write_traceparent(place: TracePlace) -> str:
    """Return a span as a `traceparent`."""
    return f"00-{place.trace:032x}-{place.span:016x}-{int(place.sampled):02x}"
