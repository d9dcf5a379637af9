"""Words and calls of a reply while they arrive, and what the journal knows of the words."""

from __future__ import annotations

from dataclasses import dataclass, field

from bridle.core.events import PartGrown, PartPut, PartRemoved, Recorded
from bridle.core.parts import Reasoning, Text
from bridle.core.thinking import Kind


@dataclass(slots=True)
class GrowingInput:
    """A call whose arguments arrive in pieces; it is shown at once, and recorded when it is whole."""

    id: str
    name: str
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.size += len(text)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(slots=True)
class Growing:
    """Words that arrive in pieces; they are joined when somebody reads them, so that a long reply costs its length."""

    id: str
    kind: Kind
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    seal: str = ""
    put: bool = False
    stored: int = 0
    unsealed: bool = False
    gone: bool = False
    """It was no text after all: the journal and the reader forget it."""

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.size += len(text)

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    def events(self) -> list[Recorded]:
        """What the journal does not know yet."""
        if self.gone:
            return [PartRemoved(self.id)]
        if self.put and self.stored == self.size and not self.unsealed:
            return []
        offset, self.stored = self.stored, self.size
        seal, self.unsealed = self.seal, False
        if self.put:
            return [PartGrown(self.id, offset, self.text[offset:], seal)]
        self.put = True
        part = Text(self.id, self.text) if self.kind == "text" else Reasoning(self.id, self.text, seal)
        return [PartPut(part)]
