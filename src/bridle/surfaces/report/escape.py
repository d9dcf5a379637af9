"""The only way of text into a report: without secrets and control characters, and escaped."""

from __future__ import annotations

from html import escape

from bridle.surfaces.shared.safe_text import MARK
from bridle.values.secrets import redacted


def quoted(own: str) -> str:
    """What Bridle itself writes into an attribute."""
    return escape(own)


def text(words: str) -> str:
    """Words as a page shows them: without secrets and what cannot be seen or turns the reading round, and escaped."""
    safe = redacted(words)
    if not safe.isprintable():
        safe = "".join(letter if letter in "\n\t" or letter.isprintable() else MARK for letter in safe)
    return escape(safe)
