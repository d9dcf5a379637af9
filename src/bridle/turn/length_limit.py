"""The length limit of a reply, enforced while it streams, because some servers ignore it."""

from __future__ import annotations

from bridle.core.stream import ReasoningDelta, StreamEvent, TextDelta, ToolInputDelta
from bridle.turn.processor import Processor

MOST_CHARACTERS_PER_TOKEN = 8
"""Above the average of any text: a longer reply has ignored its limit."""


class Length:
    """The number of characters that a reply may still have."""

    __slots__ = ("_left",)

    def __init__(self, tokens: int) -> None:
        self._left = tokens * MOST_CHARACTERS_PER_TOKEN

    def hold(self, processor: Processor, event: StreamEvent) -> None:
        """Count an event that the processor was fed. A reply that is too long ends with the finish reason `length`."""
        if isinstance(event, (TextDelta, ReasoningDelta, ToolInputDelta)):
            self._left -= len(event.text)
            if self._left < 0:
                processor.finish, processor.ended = "length", True
