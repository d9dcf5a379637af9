"""Short words for calls: the argument that says most."""

from __future__ import annotations

import json

TELLING = ("command", "filePath", "path", "pattern", "description", "url", "prompt", "query", "name")


def telling(arguments: str) -> str:
    """What a reader wants to see of the arguments of a call, which need not be JSON."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return arguments
    if not isinstance(given, dict) or not given:
        return ""
    return str(next((given[key] for key in TELLING if given.get(key)), next(iter(given.values()))))
