"""Removes control and invisible characters from untrusted text before a terminal, widget or page shows it."""

from __future__ import annotations

import re
import unicodedata

MARK = "\N{REPLACEMENT CHARACTER}"
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories that are invisible or control a terminal: control, format, private, line separators."""
_PICTURE = "[\u203c-\u3299\ufe0f\U0001f000-\U0001faff]"
_LETTER = "[\u0600-\u0dff]"
_JOINER = re.compile(
    f"(?<={_PICTURE})\u200d(?={_PICTURE})|(?<={_LETTER})[\u200c\u200d](?={_LETTER})|(?P<stray>[\u200c\u200d])"
)
"""Joiners are allowed between emoji and in scripts that need them; elsewhere they are invisible."""


class _Shown(dict[int, str]):
    """Cached replacements of characters for display, by code point."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        self[code] = MARK if unicodedata.category(letter) in HIDDEN else letter
        return self[code]


class _Escaped(dict[int, str]):
    """Cached JSON escapes of characters, by code point."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        hidden = unicodedata.category(letter) in HIDDEN
        units = letter.encode("utf-16-be", "surrogatepass").hex()
        self[code] = re.sub("(.{4})", r"\\u\1", units) if hidden else letter
        return self[code]


_SHOWN = _Shown({ord("\n"): "\n", ord("\t"): "\t", ord("\r"): "", 0x200C: "\u200c", 0x200D: "\u200d"})
# JSON contains no raw control characters below 0x20 except the line ends around it.
_ESCAPED = _Escaped({code: chr(code) for code in range(0x20)})


def plain(text: str) -> str:
    """Replace invisible characters, including all that could control a terminal."""
    if text.isascii() and text.isprintable():
        return text
    text = text.translate(_SHOWN)
    if "\u200c" in text or "\u200d" in text:
        # Last, so that the neighbors of a joiner are already visible characters.
        text = _JOINER.sub(lambda found: MARK if found["stray"] else found[0], text)
    return text


def line(text: str) -> str:
    """Return `plain` text on one line, for names and arguments from a model."""
    return " ".join(plain(text).split())


def plain_json(text: str) -> str:
    """Escape invisible characters in JSON: the value stays the same and cannot control a terminal."""
    return text.translate(_ESCAPED)
