"""Escapes text for the HTML report; all of it passes here, where secrets and control characters are removed."""

from __future__ import annotations

from html import escape

from bridle.surfaces.shared.safe_text import MARK
from bridle.values.secrets import redacted


def quoted(own: str) -> str:
    """Escape Bridle's own text for an attribute."""
    return escape(own)


def text(words: str) -> str:
    """Escape text, without secrets, invisible characters and characters that reverse the reading direction."""
    safe = redacted(words)
    if not safe.isprintable():
        safe = "".join(letter if letter in "\n\t" or letter.isprintable() else MARK for letter in safe)
    return escape(safe)
