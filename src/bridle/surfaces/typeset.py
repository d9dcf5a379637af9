"""Markdown as a terminal shows it, by the same rules in a run and in the application."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, TableElement
from rich.table import Table

from bridle.surfaces.streaming import markdown


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


class Words(Markdown):
    """What a model says."""

    elements: ClassVar = {**Markdown.elements, "heading_open": _LeftHeading, "table_open": _WholeTable}

    def __init__(self, words: str, *, light: bool) -> None:
        # A link shows where it leads: what a model calls it need not be true.
        super().__init__(words, code_theme="ansi_light" if light else "ansi_dark", hyperlinks=False)
        self.parsed = markdown().parse(words)
