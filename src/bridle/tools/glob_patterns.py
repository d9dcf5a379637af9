"""Converts glob patterns to regular expressions: `*` within one folder, `**` across folders, `?`, `[…]` and `{a,b}`."""

from __future__ import annotations

import re
from functools import lru_cache

from bridle.errors import ToolFailed

_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|\{|\}|,|\\.|.", re.DOTALL)
_WILDCARDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}


@lru_cache(maxsize=256)
def fitting(pattern: str) -> re.Pattern[str]:
    """Return a regular expression that matches whole paths. Raises `ToolFailed` for an invalid pattern."""
    depth = 0
    found: list[str] = []
    for piece in _PIECE.findall(pattern.removeprefix("./")):
        depth += (piece == "{") - (piece == "}")
        found.append("|" if piece == "," and depth > 0 else _WILDCARDS.get(piece) or _letters(piece))
    try:
        return re.compile("".join(found), re.DOTALL)
    except re.error as error:
        raise ToolFailed(f"{pattern!r} is not a valid glob pattern: {error}") from error


def _letters(piece: str) -> str:
    """Return the expression for a set of letters in brackets, or for one letter."""
    if piece.startswith("[") and len(piece) > 2:
        return "[" + ("^" if piece[1] == "!" else "") + piece[1 + (piece[1] == "!") : -1].replace("\\", "\\\\") + "]"
    return re.escape(piece.removeprefix("\\") or piece)
