"""Picks the most informative argument of a tool call, to show the call on one line."""

from __future__ import annotations

import json

TELLING = ("command", "filePath", "path", "pattern", "description", "url", "prompt", "query", "name")


def telling(arguments: str) -> str:
    """Return the most informative of a call's arguments; invalid JSON is returned unchanged."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return arguments
    if not isinstance(given, dict) or not given:
        return ""
    return str(next((given[key] for key in TELLING if given.get(key)), next(iter(given.values()))))
