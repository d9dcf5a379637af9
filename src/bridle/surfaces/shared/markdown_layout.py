"""Markdown as a terminal shows it, by the same rules in a run and in the application."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import pairwise
from typing import ClassVar

from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, TableElement
from rich.table import Table

from bridle.surfaces.shared.markdown_stream import markdown


class _LeftHeading(Heading):
    """A heading where the eye begins to read."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _WholeTable(TableElement):
    """A table in which nothing is left out: what is too wide goes on in the next line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            assert isinstance(table, Table)
            for column in table.columns:
                column.overflow = "fold"
            yield table


class MarkdownText(Markdown):
    """What a model says."""

    elements: ClassVar = {**Markdown.elements, "heading_open": _LeftHeading, "table_open": _WholeTable}

    def __init__(self, words: str, *, light: bool) -> None:
        # A link shows where it leads: what a model calls it need not be true.
        super().__init__(words, code_theme="ansi_light" if light else "ansi_dark", hyperlinks=False)
        self.parsed = list(_whole(markdown().parse(words), words.split("\n")))


def _whole(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[Token]:
    """Tokens in which no text is lost: a block that would lose some stands as it was written."""
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            first, last = block[0].map or (0, 0)
            source = lines[first:last]
            yield from _as_written(source) if _loses(block, "\n".join(source)) else block
            block = []
    yield from block


def _loses(block: Sequence[Token], source: str) -> bool:
    """Whether something in the source would not be shown, such as the number of a list item without content."""
    if block[0].type == "hr":
        return False
    if block[0].type == "fence":
        return "\n" not in source
    if any(one.type == "list_item_open" and two.type == "list_item_close" for one, two in pairwise(block)):
        return True
    shown = "".join(_shown(block))
    lost = Counter(filter(str.isalnum, unescape(source))) - Counter(filter(str.isalnum, shown))
    return bool(lost) or not shown.strip()


def _shown(tokens: Sequence[Token]) -> Iterator[str]:
    """The text that is shown of tokens; an image shows what it is called, and not its address."""
    for token in tokens:
        if token.type == "link_open":
            yield str(token.attrs.get("href", ""))
        elif token.type == "image" or not token.children:
            yield f"{token.content}{token.info}"
        else:
            yield from _shown(token.children)


def _as_written(lines: Sequence[str]) -> Iterator[Token]:
    children: list[Token] = []
    for line in lines:
        children += [Token("text", "", 0, content=line), Token("hardbreak", "br", 0)]
    yield Token("paragraph_open", "p", 1, block=True)
    yield Token("inline", "", 0, content="\n".join(lines), children=children[:-1], block=True, level=1)
    yield Token("paragraph_close", "p", -1, block=True)
