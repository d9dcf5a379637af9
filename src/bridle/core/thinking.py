"""`Thinking`: separates a model's thoughts from its answer, for models that write both into one text stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

Kind = Literal["text", "reasoning"]

MARKS: tuple[tuple[str, str], ...] = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
)
"""Marks with which open models begin and end a thought; case does not matter."""


class Thinking:
    """Splits a stream into thoughts and text. Only thoughts at its start count; later marks are plain text."""

    __slots__ = ("_close", "_held", "_state")

    def __init__(self) -> None:
        self._state: Literal["start", "thinking", "thought", "said"] = "start"
        self._held = ""
        self._close = ""

    @property
    def over(self) -> bool:
        """Whether everything from here on is text."""
        return self._state == "said"

    def take(self, text: str) -> Iterator[tuple[Kind, str]]:
        """Yield the pieces known to be text or thought; a piece that may be part of a mark is held back."""
        if self._state == "said":
            yield "text", text
            return
        self._held += text
        while self._held:
            found = self._thought() if self._state == "thinking" else self._start()
            if found is None:
                return
            if found[1]:
                yield found

    def end(self) -> Iterator[tuple[Kind, str]]:
        """End the stream: yield the text held back."""
        held, self._held = self._held, ""
        kind: Kind = "reasoning" if self._state == "thinking" else "text"
        if self._state == "thought":
            held = held.lstrip()
        if held:
            yield kind, held

    def _start(self) -> tuple[Kind, str] | None:
        """Handle the start of the stream: a mark begins a thought, anything else makes the rest text."""
        bare = self._held.lstrip()
        folded = bare.casefold()
        for opening, closing in MARKS:
            if folded.startswith(opening):
                self._held, self._close, self._state = bare[len(opening) :], closing, "thinking"
                return "reasoning", ""
        if any(opening.startswith(folded) for opening, _ in MARKS):
            return None
        said = bare if self._state == "thought" else self._held
        self._held, self._state = "", "said"
        return "text", said

    def _thought(self) -> tuple[Kind, str] | None:
        place = re.search(re.escape(self._close), self._held, re.IGNORECASE)
        if place is not None:
            thought, self._held, self._state = self._held[: place.start()], self._held[place.end() :], "thought"
            return "reasoning", thought
        # The last characters may be the beginning of the closing mark.
        last = self._held[-len(self._close) :].casefold()
        kept = next((size for size in range(len(last), 0, -1) if self._close.startswith(last[-size:])), 0)
        thought, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        return ("reasoning", thought) if thought else None
