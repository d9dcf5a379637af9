"""The length limit of a reply, held where it is read: servers that know no such limit would be paid without end."""

from __future__ import annotations

from bridle.core.stream import ReasoningDelta, StreamEvent, TextDelta, ToolInputDelta
from bridle.turn.processor import Processor

MOST_CHARACTERS_PER_TOKEN = 8
"""A reply with more characters for each token that it was allowed is longer than it may be."""


class Length:
    """How much of a reply is still taken."""

    __slots__ = ("_left",)

    def __init__(self, tokens: int) -> None:
        self._left = tokens * MOST_CHARACTERS_PER_TOKEN

    def hold(self, processor: Processor, event: StreamEvent) -> None:
        """Count an event that was fed; a reply that is too long ends as if its model had kept the limit."""
        if isinstance(event, (TextDelta, ReasoningDelta, ToolInputDelta)):
            self._left -= len(event.text)
            if self._left < 0:
                processor.finish, processor.ended = "length", True
