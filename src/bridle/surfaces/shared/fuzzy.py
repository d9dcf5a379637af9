"""`ranked`: fuzzy search for lists and completions: texts that contain all letters in order, the best match first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
STARTS = frozenset(" -_./:@")
"""Characters after which a word begins."""


def ranked(wanted: str, items: Iterable[Item], text_of: Callable[[Item], str]) -> list[Item]:
    """Return the items whose text contains the wanted letters in order, best match first, equal ones in their order.

    Several wanted words must all be found.
    """
    words = wanted.casefold().split()
    found = [(scores, item) for item in items if (scores := [_score(word, text_of(item).casefold()) for word in words])]
    if not words:
        return list(items)
    return [item for scores, item in sorted(found, key=lambda each: -sum(each[0])) if all(scores)]


def _score(word: str, text: str) -> float:
    """Return how well a word matches a text: 0 for not at all, more for whole words, starts and short texts."""
    place = text.find(word)
    if place >= 0:
        whole = 3.0 if place == 0 else 2.0 if text[place - 1] in STARTS else 1.0
        return 10.0 * whole + len(word) / (len(text) + 1)
    score, place, ran = 0.0, -1, False
    for letter in word:
        at = text.find(letter, place + 1)
        if at < 0:
            return 0.0
        close = at == place + 1 or at == 0 or text[at - 1] in STARTS
        score += 1.0 if close else 0.2
        ran = ran or close
        place = at
    return score / len(word) + 0.01 if ran else 0.0
