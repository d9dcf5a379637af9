"""Matches texts for permission rules: wildcards, partly known texts, and suffixes of a command that may be commands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

NOT_KNOWN = "\ufffd"
"""Stands for an unknown word, or the unknown rest of one."""
_PARTS = re.compile(r"[;&|(){}\[\]<>$`\n]+")
_STARTS = re.compile(r"(?:^|[\s=!@:+/]|(?<=\s-)\w)(?=[^\s=!@:+/])")
_QUOTES = str.maketrans(",", " ", "'\"\\")
MOST_STARTS = 500


def wildcard(pattern: str) -> str:
    """Return the regular expression for a wildcard pattern."""
    return "".join({"*": ".*", "?": "."}.get(letter) or re.escape(letter) for letter in pattern)


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a wildcard pattern as a compiled regular expression, which must match the whole text."""
    return re.compile(wildcard(pattern), re.DOTALL)


def passed_on(text: str) -> Iterable[str]:
    """Return every suffix of a command, without quotes, that may be a command itself."""
    parts = [" ".join(part.split()) for part in _PARTS.split(text.translate(_QUOTES))]
    starts = [(part, start.end()) for part in parts for start in _STARTS.finditer(part)]
    if len(starts) > MOST_STARTS:
        # Longer than any command that people write; treated as unknown.
        return (NOT_KNOWN,)
    return (part[start:] for part, start in starts if not part.startswith(NOT_KNOWN, start))


def after(pattern: str, beginning: str) -> set[int]:
    """Return the positions in a pattern after the beginning has been matched; empty if it cannot match."""
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
    """Add the positions after stars, since a star may match nothing."""
    found = set(places)
    for place in places:
        while place < len(pattern) and pattern[place] == "*":
            place += 1
            found.add(place)
    return found
