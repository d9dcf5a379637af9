"""Words of a reply while they arrive, and what the journal knows of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bridle.core.events import PartGrown, PartPut, Recorded
from bridle.core.parts import Reasoning, Text


@dataclass(slots=True)
class Growing:
    """Words that arrive in pieces; they are joined when somebody reads them, so that a long reply costs its length."""

    id: str
    kind: Literal["text", "reasoning"]
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    seal: str = ""
    put: bool = False
    stored: int = 0
    unsealed: bool = False

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
        if self.put and self.stored == self.size and not self.unsealed:
            return []
        offset, self.stored = self.stored, self.size
        seal, self.unsealed = self.seal, False
        if self.put:
            return [PartGrown(self.id, offset, self.text[offset:], seal)]
        self.put = True
        part = Text(self.id, self.text) if self.kind == "text" else Reasoning(self.id, self.text, seal)
        return [PartPut(part)]
