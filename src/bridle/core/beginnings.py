"""Pieces of texts that rules are matched with: beginnings, and words that a program may pass on as a command."""

from __future__ import annotations

import re
from collections.abc import Iterator

NOT_KNOWN = "\ufffd"
"""Stands for a word, or the rest of one, that is not known."""
_PARTS = re.compile(r"[;&|(){}\[\]<>$`\n]+")
_STARTS = re.compile(r"(?:^|[\s=!@:+/]|(?<=\s-)\w)(?=[^\s=!@:+/])")
_QUOTES = str.maketrans(",", " ", "'\"\\")
MOST_STARTS = 2_000


def passed_on(text: str) -> Iterator[str]:
    """Every piece of a command from which on it may be a command itself, without quotes."""
    count = 0
    for part in _PARTS.split(text.translate(_QUOTES)):
        plain = " ".join(part.split())
        for start in _STARTS.finditer(plain):
            count += 1
            if count > MOST_STARTS:
                # It is longer than anything that people write, and nothing is known of it.
                yield NOT_KNOWN
                return
            if not plain.startswith(NOT_KNOWN, start.end()):
                yield plain[start.end() :]


def after(pattern: str, beginning: str) -> set[int]:
    """Where in a pattern one may stand when the beginning has been matched; nowhere means that it cannot match."""
    places = _past_stars(pattern, {0})
    for letter in beginning:
        places = {
            place if pattern[place] == "*" else place + 1
            for place in places
            if place < len(pattern) and pattern[place] in ("*", "?", letter)
        }
        places = _past_stars(pattern, places)
    return places


def _past_stars(pattern: str, places: set[int]) -> set[int]:
    """A star may stand for nothing."""
    found = set(places)
    for place in places:
        while place < len(pattern) and pattern[place] == "*":
            place += 1
            found.add(place)
    return found
