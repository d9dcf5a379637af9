"""Pieces of text that a terminal, a page or a parser might take for more than text."""

PIECES = [
    *("\x1b[31m", "\x1b]0;owned\x07", "\x1b]52;c;aGk=\x07", "\x9b2J", "\x00", "\x07", "\b\b", "\r", "\x7f"),
    *("\u202e", "\u2066", "\u200f", "\ufeff", "\u200b", "\u0301", "\u0e33", "漢字", "🏳️‍🌈", "e\u0301" * 9, "\U000e0041"),
    *(
        "[b]x[/b]",
        "[link=file:///]",
        "[[",
        "]",
        "# ",
        "```",
        "|a|b|\n|-|-|\n",
        "<script>",
        "\t",
        "\n",
        "a" * 300,
        "$x$",
    ),
]
