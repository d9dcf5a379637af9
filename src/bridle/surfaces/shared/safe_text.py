"""Makes text from outside harmless before a terminal, a widget or a page shows it."""

from __future__ import annotations

import re
import unicodedata

MARK = "\N{REPLACEMENT CHARACTER}"
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Categories of characters that nobody sees, or that a terminal obeys: control, format, private, line separators."""
_PICTURE = "[\u203c-\u3299\ufe0f\U0001f000-\U0001faff]"
_LETTER = "[\u0600-\u0dff]"
_JOINER = re.compile(
    f"(?<={_PICTURE})\u200d(?={_PICTURE})|(?<={_LETTER})[\u200c\u200d](?={_LETTER})|(?P<stray>[\u200c\u200d])"
)
"""Joiners make one picture of several, and write some scripts; anywhere else they hide."""


class _Shown(dict[int, str]):
    """What is shown for a character, by its code: looked up once, then known."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        self[code] = MARK if unicodedata.category(letter) in HIDDEN else letter
        return self[code]


class _Escaped(dict[int, str]):
    """How a character is written in JSON, by its code."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        hidden = unicodedata.category(letter) in HIDDEN
        units = letter.encode("utf-16-be", "surrogatepass").hex()
        self[code] = re.sub("(.{4})", r"\\u\1", units) if hidden else letter
        return self[code]


_SHOWN = _Shown({ord("\n"): "\n", ord("\t"): "\t", ord("\r"): "", 0x200C: "\u200c", 0x200D: "\u200d"})
# The control characters below 0x20 are never raw in JSON, except for the line ends around it.
_ESCAPED = _Escaped({code: chr(code) for code in range(0x20)})


def plain(text: str) -> str:
    """Replace the characters that nobody sees, among them all that could drive a terminal."""
    if text.isascii() and text.isprintable():
        return text
    text = text.translate(_SHOWN)
    if "\u200c" in text or "\u200d" in text:
        # Last, when nothing is left beside a joiner that nobody sees.
        text = _JOINER.sub(lambda found: MARK if found["stray"] else found[0], text)
    return text


def line(text: str) -> str:
    """The same in one line, for names and arguments that a model made up."""
    return " ".join(plain(text).split())


def plain_json(text: str) -> str:
    """Write the same characters in JSON as escapes: the text then says the same and drives nothing."""
    return text.translate(_ESCAPED)
