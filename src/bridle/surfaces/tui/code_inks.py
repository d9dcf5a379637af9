"""Highlights lines of code with the inks of a theme, by the name of their file."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import PurePath

from rich.syntax import Syntax

from bridle.surfaces.tui.rows import Piece

MOST_LENGTH = 400
"""Longer lines are not highlighted."""
Highlighter = Callable[[str], list[Piece]]
INKS = (
    ("Token.Comment", "muted"),
    ("Token.Keyword", "accent"),
    ("Token.Operator.Word", "accent"),
    ("Token.Literal.String", "success"),
    ("Token.Literal.Number", "warning"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Builtin", "name"),
    ("Token.Name.Decorator", "name"),
    ("Token.Name.Tag", "accent"),
    ("Token.Name.Attribute", "name"),
    ("Token.Generic.Heading", "bold text"),
)
"""The ink of a token: the last one of which its type begins with the name."""


def _as_text(line: str) -> list[Piece]:
    return [(line, "text")]


def highlighter(path: str) -> Highlighter:
    """Return the function that highlights the lines of a file; lines of an unknown language stay plain."""
    return _of_kind(PurePath(path).name if "." not in path else f"x{PurePath(path).suffix}")


@cache
def _of_kind(name: str) -> Highlighter:
    lexer = Syntax("", Syntax.guess_lexer(name)).lexer
    if lexer is None:
        return _as_text

    def highlight(line: str) -> list[Piece]:
        if len(line) > MOST_LENGTH:
            return _as_text(line)
        return [(text, _ink(str(kind))) for kind, text in lexer.get_tokens(line) if text.strip("\n")]

    return highlight


@cache
def _ink(kind: str) -> str:
    return next((ink for name, ink in INKS if kind.startswith(name)), "text")
