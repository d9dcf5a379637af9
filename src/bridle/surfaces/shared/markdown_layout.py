"""`MarkdownText`: renders a model's Markdown for the terminal with Rich; blocks that would lose text stay source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import pairwise
from typing import ClassVar

from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.syntax import Syntax, SyntaxTheme
from rich.table import Table

from bridle.surfaces.shared.markdown_stream import markdown


class _LeftHeading(Heading):
    """A left-aligned heading."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _WholeTable(TableElement):
    """A table that wraps wide cells instead of truncating them."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            assert isinstance(table, Table)
            for column in table.columns:
                column.overflow = "fold"
            yield table


class _Code(CodeBlock):
    """A block of code in the colors of a surface, if it has some."""

    syntax: SyntaxTheme | None = None

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> CodeBlock:
        made = super().create(markdown, token)
        if isinstance(made, cls) and isinstance(markdown, MarkdownText):
            made.syntax = markdown.syntax
        return made

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.syntax is None:
            yield from super().__rich_console__(console, options)
        else:
            yield Syntax(str(self.text).rstrip(), self.lexer_name, theme=self.syntax, word_wrap=True, padding=(0, 1))


class MarkdownText(Markdown):
    """Markdown written by a model. `syntax` are the colors of code; without them it has those of the terminal."""

    elements: ClassVar = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "table_open": _WholeTable,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, words: str, *, light: bool, syntax: SyntaxTheme | None = None) -> None:
        self.syntax = syntax
        # Links show their URL, because a model's link text may be misleading. Rich parses nothing: its parser differs.
        super().__init__("", code_theme="ansi_light" if light else "ansi_dark", hyperlinks=False)
        self.markup = words
        self.parsed = list(_whole(markdown().parse(words), words.split("\n")))


def _whole(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[Token]:
    """Yield tokens that lose no text: a block that would lose some is shown as its source."""
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
    """Return whether part of the source would not be shown, e.g. the number of an empty list item."""
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
    """Yield the visible text of tokens; an image shows its alternative text instead of its URL."""
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
