"""What an event of a turn is, as a full scan sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridle.core.events import CallMoved, Entry, PartPut
from bridle.core.parts import Request
from bridle.core.states import Done, Failed, Interrupted, Refused, Waiting

History = Sequence[tuple[Entry, Any]]
"""The events of a turn, each with its entry."""
ERRANDS = ("compaction", "synthesis", "title")


def told(turn: History) -> list[Any]:
    """The events by which the model is told of a report from the background."""
    begun = {event.id for _, event in turn if getattr(getattr(event, "state", None), "told", "")}
    return [event for _, event in turn if getattr(event, "id", "") in begun and is_ended(event)]


def is_ended(event: Any) -> bool:
    return isinstance(event, CallMoved) and isinstance(event.state, (Done, Failed, Refused))


def has_result(state: Any) -> bool:
    return isinstance(state, (Done, Failed, Refused)) or (isinstance(state, Waiting) and bool(state.told))


def is_part(event: Any, kind: type) -> bool:
    return isinstance(event, PartPut) and isinstance(event.part, kind)


def died(state: Any) -> bool:
    """The request came to nothing and is asked again under its number."""
    return isinstance(state, Interrupted) or getattr(state, "overflow", False) or fell_back(state)


def fell_back(state: Any) -> bool:
    """Another model is asked instead."""
    return bool(getattr(state, "fallback", ""))


def models_asked(history: History) -> dict[str, str]:
    """The model of each request."""
    return {event.part.id: event.part.model for _, event in history if is_part(event, Request)}
