"""`Growing`: buffer of one text or tool call while it streams, which knows how much of it the journal has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bridle.core.events import PartDelta, PartGrown, PartPut, PartRemoved, Recorded
from bridle.core.parts import Reasoning, Text
from bridle.core.thinking import Kind


@dataclass(slots=True)
class Growing:
    """Text that is still streaming; pieces are joined when read, so that a long reply costs linear time.

    The arguments of a call are shown at once, and recorded with their call when it is whole.
    """

    id: str
    kind: Kind | Literal["arguments"]
    name: str = ""
    """The tool of a call."""
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    seal: str = ""
    put: bool = False
    stored: int = 0
    unsealed: bool = False
    gone: bool = False
    """It was not text after all: journal and reader drop it."""

    def add(self, text: str) -> PartDelta:
        """Add more text; return the delta to show."""
        offset = self.size
        self.pieces.append(text)
        self.size += len(text)
        return PartDelta(self.id, offset, text, self.kind, self.name)

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    def events(self) -> list[Recorded]:
        """Return the events that the journal does not have yet."""
        if self.gone:
            return [PartRemoved(self.id)]
        if self.kind == "arguments" or (self.put and self.stored == self.size and not self.unsealed):
            return []
        offset, self.stored = self.stored, self.size
        seal, self.unsealed = self.seal, False
        if self.put:
            return [PartGrown(self.id, offset, self.text[offset:], seal)]
        self.put = True
        part = Text(self.id, self.text) if self.kind == "text" else Reasoning(self.id, self.text, seal)
        return [PartPut(part)]
