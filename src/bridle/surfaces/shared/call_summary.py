"""Short words for parts: the argument that says most of a call, and what became of a compaction."""

from __future__ import annotations

import json

from bridle.core.parts import Compaction

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


def compaction(part: Compaction) -> str:
    """What became of a compaction."""
    if part.outcome != "smaller":
        return "context not compacted: nothing to gain"
    return f"context compacted: {part.before} → {part.after} tokens"
