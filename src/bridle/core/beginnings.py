"""Where a wildcard pattern may stand once the beginning of a text has been matched."""

from __future__ import annotations


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
