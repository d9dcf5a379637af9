"""Ids of traces and spans, derived from the record: each process that drives a turn makes the same ones."""

from __future__ import annotations

from hashlib import blake2b

from bridle.core.parts import TurnStart


def trace_id(start: TurnStart) -> int:
    """Return the trace of a tree of turns, by the account of its root turn."""
    above = start.delegation
    root = (above.root or above.account) if above is not None else start.account
    return _number(16, root or start.id)


def span_id(session: str, part: str) -> int:
    """Return the span of a part: of the start of a turn or a step, of a request or of a call."""
    return _number(8, session, part)


def _number(size: int, *words: str) -> int:
    # Zero is no valid id.
    return int.from_bytes(blake2b("\0".join(words).encode(), digest_size=size).digest()) or 1
