"""Makes text from outside harmless before a terminal, a widget or a page shows it."""

from __future__ import annotations

import re

MARK = "\N{REPLACEMENT CHARACTER}"
_DIRECTIONS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_UNSAFE = {
    **dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), *_DIRECTIONS], MARK),
    ord("\n"): "\n",
    ord("\t"): "\t",
    ord("\r"): "",
}
# The control characters below 0x20 are never raw in JSON, except for the line ends around it.
_RAW_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Replace the control and direction characters, which could drive a terminal."""
    return text.translate(_UNSAFE)


def line(text: str) -> str:
    """The same in one line, for names and arguments that a model made up."""
    return " ".join(plain(text).split())


def plain_json(text: str) -> str:
    """Write the same characters in JSON as escapes: the text then says the same and drives nothing."""
    return _RAW_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
