"""Detects doom loops: repeated calls with repeated results (`repeats`), replies that repeat one sentence (`Chant`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

REPEATS = 3
LONGEST_CYCLE = 6
STALE_CALLS = 12
MALFORMED_REPLIES = 3
WINDOW = LONGEST_CYCLE * REPEATS - 1

CHANT_CHUNK = 50
CHANT_REPEATS = 10
CHANT_WINDOW = CHANT_REPEATS * 5 * CHANT_CHUNK
CHANT_STRIDE = 25
CHANT_LETTERS = 8

UNKNOWN = ""
"""Result of a call that runs in the same step; counts as equal to any other."""

Pair = tuple[str, str]


@dataclass(slots=True)
class Repetition:
    """The ended calls of a turn, as far back as any pattern reaches."""

    window: deque[Pair] = field(default_factory=lambda: deque(maxlen=WINDOW))
    seen: set[Pair] = field(default_factory=set)
    seen_calls: set[str] = field(default_factory=set)
    stale: int = 0
    malformed: int = 0

    def add(self, call: str, result: str) -> None:
        """Record a call that ended with this result."""
        pair = (call, result)
        self.window.append(pair)
        self.stale = self.stale + 1 if pair in self.seen else 0
        self.seen.add(pair)
        self.seen_calls.add(call)
        self.malformed = 0

    def add_malformed(self) -> None:
        """Record a reply in which no call could be parsed."""
        self.malformed += 1

    def restart(self) -> None:
        """Reset all counts, because a person said that this is no loop."""
        self.window.clear()
        self.seen.clear()
        self.seen_calls.clear()
        self.stale = 0
        self.malformed = 0


def repeats(past: Repetition, batch: Sequence[Pair], call: str) -> bool:
    """Return whether this call, after past calls and the earlier ones of its step, repeats itself without progress."""
    if call not in past.seen_calls and all(pair[0] != call for pair in batch):
        return False
    recent = [*past.window, *batch][-WINDOW:]
    for period in range(1, min(LONGEST_CYCLE, len(recent)) + 1):
        if recent[-period][0] == call and _completes_cycle(recent, period):
            return True
    stale = past.stale
    for pair in batch:
        known = pair in past.seen or (pair[1] == UNKNOWN and pair[0] in past.seen_calls)
        stale = stale + 1 if known else 0
    return stale + 1 >= STALE_CALLS


def _completes_cycle(recent: Sequence[Pair], period: int) -> bool:
    length = period * REPEATS
    if len(recent) < length - 1:
        return False
    tail = recent[-(length - 1) :]
    if period > 1 and len({pair[0] for pair in tail[:period]}) == 1:
        # One call whose results alternate is polling, not a cycle.
        return False
    return all(_same(tail[at], tail[at + period]) for at in range(len(tail) - period))


def _same(left: Pair, right: Pair) -> bool:
    return left[0] == right[0] and (left[1] == right[1] or UNKNOWN in (left[1], right[1]))


class Chant:
    """Detector for a text that repeats one sentence-sized chunk again and again with little in between."""

    __slots__ = ("_fresh", "_recent", "_ticks")

    def __init__(self) -> None:
        self._recent = ""
        self._fresh = 0
        self._ticks = 0

    def heard(self, text: str) -> bool:
        """Add more text; return True once it repeats itself."""
        self._fresh += len(text)
        self._recent += text
        if self._fresh < CHANT_STRIDE:
            return False
        dropped = self._recent[:-CHANT_WINDOW]
        self._ticks += dropped.count("```")
        self._recent = self._recent[-CHANT_WINDOW:]
        recent, fresh, self._fresh = self._recent, min(self._fresh, CHANT_WINDOW), 0
        last = len(recent) - CHANT_CHUNK
        for start in range(last, max(0, last - fresh), -CHANT_STRIDE):
            chunk = recent[start : start + CHANT_CHUNK]
            # The chunk is usually new, and then need not be counted.
            if recent.find(chunk) < start and self._chanted(chunk):
                return True
        return False

    def _chanted(self, chunk: str) -> bool:
        # A horizontal rule, a run of blanks or an empty table row is no sentence, and code may repeat itself.
        if len(set(chunk)) < CHANT_LETTERS:
            return False
        place, found = -1, 0
        while found < CHANT_REPEATS:
            # Matches may overlap: a sentence shorter than the chunk recurs within it.
            place = self._recent.find(chunk, place + 1)
            if place < 0:
                return False
            found += 1
        return (self._ticks + self._recent.count("```")) % 2 == 0
