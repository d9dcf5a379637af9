"""Markdown that still grows, divided into what nothing can change any more and the rest."""

from __future__ import annotations

from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

CODE_LINES = 30
"""So much of a block of code waits for its end; one that is longer is divided."""
LONGEST = 4_000
"""So many characters wait for the end of their block; then they are divided wherever it goes."""


class Divided(NamedTuple):
    """Markdown that stands for itself, what comes after it, and whether a block goes on from one to the other."""

    whole: str
    rest: str
    joined: bool = False


class Divider:
    """Keeps what it works on small, so that a long answer costs no more for each of its words than a short one."""

    def __init__(self) -> None:
        self._parser = MarkdownIt("commonmark").enable("table").enable("strikethrough")

    def divide(self, text: str) -> Divided:
        """Everything but the last block, or the last item of a list, stands."""
        tokens = self._parser.parse(text)
        blocks = [token for token in tokens if token.level == 0 and token.map]
        if len(blocks) > 1:
            return _at_line(text, blocks[-1], joined=False)
        if not blocks:
            return Divided("", text)
        items = [token for token in tokens if token.level == 1 and token.type == "list_item_open" and token.map]
        if len(items) > 1:
            return _at_line(text, items[-1], joined=True)
        if blocks[0].type == "fence" and text.count("\n") > CODE_LINES:
            return _within_code(text, blocks[0])
        return _anywhere(text) if len(text) > LONGEST else Divided("", text)


def _at_line(text: str, token: Token, *, joined: bool) -> Divided:
    assert token.map is not None
    lines = text.split("\n")
    return Divided("\n".join(lines[: token.map[0]]), "\n".join(lines[token.map[0] :]), joined)


def _within_code(text: str, fence: Token) -> Divided:
    """The lines of a block of code so far, and one that goes on with the last, which need not be whole."""
    assert fence.map is not None
    lines = text.split("\n")[fence.map[0] :]
    return Divided("\n".join([*lines[:-1], fence.markup]), f"{lines[0]}\n{lines[-1]}", joined=True)


def _anywhere(text: str) -> Divided:
    place = max(text.rfind("\n"), text.rfind(" ")) + 1 or len(text)
    return Divided(text[:place], text[place:], joined=True)
