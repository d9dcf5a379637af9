"""Finds the files and folders that a prompt mentions with an @."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bridle.errors import ToolFailed
from bridle.workspace.files import Place, located

MENTION = re.compile(r"""(?<![\w@`])@(?:"([^"\n]+)"|(\S+))""")
PLAIN = re.compile(r"(?:\.{0,2}/)?[\w.-]+(?:/[\w.-]+)*")
CLOSING = ".,;:!?)]}>'\"…*_"
"""Characters that end a sentence, a bracket or an emphasis rather than a file name."""
MOST_FILES = 20
LONGEST_NAME = 1_000


def mentioned(text: str, directory: Path) -> dict[str, Place]:
    """Return the files and folders that the text mentions, by name, in order; a name without one is only text."""
    found: dict[str, Place] = {}
    for mention in MENTION.finditer(text):
        for name in _names(mention[1], mention[2] or ""):
            place = _file(directory, name)
            if place is not None:
                found.setdefault(name, place)
                break
        if len(found) == MOST_FILES:
            break
    return found


def _names(quoted: str | None, word: str) -> Iterator[str]:
    """Yield possible names, the longest first: punctuation at the end belongs to the sentence if no file has it."""
    if quoted is not None:
        yield quoted
        return
    word = word[:LONGEST_NAME]
    while word:
        yield word
        if word[-1] not in CLOSING:
            break
        word = word[:-1]
    if plain := PLAIN.match(word):
        yield plain[0]
        yield plain[0].rstrip(".")


def _file(directory: Path, name: str) -> Place | None:
    try:
        place = located(directory, name)
        return place if name and (place.path.is_file() or place.path.is_dir()) else None
    except (ToolFailed, OSError):
        # A word that cannot be a path, or cannot be accessed, is only a word.
        return None
