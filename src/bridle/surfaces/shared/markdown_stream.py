"""`Divider`: splits streamed Markdown into finished blocks, which later text cannot change, and the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

CODE_LINES = 30
"""Maximum lines of an unfinished code block; a longer one is split."""
LONGEST = 4_000
"""Maximum characters of an unfinished block; a longer one is split where it does least harm."""
MUCH_TOO_LONG = 10 * LONGEST
"""Length from which a block is split anywhere."""
NUMBER = re.compile(r"\d+")


class Divided(NamedTuple):
    """Finished Markdown, the rest, and whether one block continues from the first into the second."""

    whole: str
    rest: str
    joined: bool = False


@cache
def markdown() -> MarkdownIt:
    """Return the parser for Markdown from models: HTML is plain text, and reference links are disabled."""
    return MarkdownIt().enable("strikethrough").enable("table").disable(["html_inline", "html_block", "reference"])


class Divider:
    """Splits off finished Markdown, so that the cost of each new word does not grow with the answer."""

    def __init__(self) -> None:
        self._parser = markdown()

    def divide(self, text: str) -> Divided:
        """Split off everything except the last block, or the last item of a list."""
        text = text.lstrip("\n")
        tokens = self._parser.parse(text)
        blocks = [token for token in tokens if token.level == 0 and token.map]
        if len(blocks) > 1:
            return _at_line(text, blocks[-1])
        if not blocks:
            return Divided("", text)
        items = [token for token in tokens if token.level == 1 and token.type == "list_item_open" and token.map]
        if len(items) > 1:
            return _at_item(text, blocks[0], items)
        if blocks[0].type == "fence":
            return _code(text, blocks[0])
        if len(text) <= LONGEST:
            return Divided("", text)
        if blocks[0].type == "table_open":
            return _table(text, blocks[0])
        fenced = any(token.type == "fence" for token in tokens)
        return _anywhere(text) if not fenced or len(text) > MUCH_TOO_LONG else Divided("", text)


def _lines(text: str, token: Token) -> tuple[list[str], int, int]:
    assert token.map is not None
    return text.split("\n"), token.map[0], token.map[1]


def _at_line(text: str, token: Token) -> Divided:
    lines, first, _ = _lines(text, token)
    return Divided("\n".join(lines[:first]), "\n".join(lines[first:]))


def _at_item(text: str, block: Token, items: Sequence[Token]) -> Divided:
    lines, first, _ = _lines(text, items[-1])
    if block.type == "ordered_list_open":
        # Many models number every item with 1; after the split, the last item would restart at 1.
        number = str(int(block.attrs.get("start", 1)) + len(items) - 1)
        given = NUMBER.search(lines[first])
        if given is not None and len(given[0]) == len(number):
            lines[first] = NUMBER.sub(number, lines[first], count=1)
    return Divided("\n".join(lines[:first]), "\n".join(lines[first:]), joined=True)


def _code(text: str, fence: Token) -> Divided:
    """Split after a finished code block; split a long unfinished one before its last line."""
    lines, first, end = _lines(text, fence)
    closing = re.compile(rf" {{0,3}}{re.escape(fence.markup)}{re.escape(fence.markup[0])}*\s*")
    if end - first > 1 and closing.fullmatch(lines[end - 1]):
        return Divided("\n".join(lines[:end]), "\n".join(lines[end:])) if len(lines) > end else Divided("", text)
    if len(lines) - first <= CODE_LINES and len(text) <= LONGEST:
        return Divided("", text)
    opening, *body, last = lines[first:]
    if not body:
        body, last = [last], ""
    return Divided("\n".join([opening, *body, fence.markup]), f"{opening}\n{last}", joined=True)


def _table(text: str, table: Token) -> Divided:
    """Split a table before its last row, which may be incomplete; the rest repeats the header."""
    lines, first, _ = _lines(text, table)
    head = lines[first : first + 2]
    return Divided("\n".join(lines[:-1]), "\n".join([*head, lines[-1]]), joined=True)


def _anywhere(text: str) -> Divided:
    place = max(text.rfind("\n"), text.rfind(" ")) + 1 or len(text)
    return Divided(text[:place], text[place:], joined=True)
