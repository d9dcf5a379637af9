"""Words of models and tools as a terminal may show them."""

from __future__ import annotations

_UNSAFE = {
    **dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], "\N{REPLACEMENT CHARACTER}"),
    **dict.fromkeys(
        [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\N{REPLACEMENT CHARACTER}"
    ),
    ord("\n"): "\n",
    ord("\t"): "\t",
    ord("\r"): "",
}


def plain(text: str) -> str:
    """Words that cannot drive a terminal: control and direction characters are replaced."""
    return text.translate(_UNSAFE)


def line(text: str) -> str:
    """The same in one line, for names and arguments that a model made up."""
    return " ".join(plain(text).split())
