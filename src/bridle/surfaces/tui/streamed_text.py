"""Widget for streamed Markdown: the cost of each new word does not grow with the answer."""

from __future__ import annotations

import asyncio
import io
from functools import cache

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.theme import Theme
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from bridle.surfaces.shared.markdown_layout import MarkdownText
from bridle.surfaces.shared.markdown_stream import Divider
from bridle.surfaces.shared.safe_text import plain

DRAW_SECONDS = 0.08


class WordsView(Widget):
    """Streamed Markdown, redrawn a few times per second regardless of the size of the pieces.

    Finished blocks are rendered once, and again only for another width or theme.
    """

    def __init__(self, words: str = "") -> None:
        super().__init__(classes="words")
        self.length = len(words)
        self.source = ""
        self._pending: list[str] = []
        self._drawing: Timer | None = None
        self._divider = Divider()
        self._wholes: list[str] = []
        self._tail = ""
        self._set_lines: list[Strip] = []
        self._tail_lines: list[Strip] = []
        self._set_for: tuple[int, str] = (0, "")
        self._take(words)

    def on_mount(self) -> None:
        self.watch(self.app, "theme", self._reset, init=False)

    def grow(self, offset: int, words: str) -> None:
        """Add the new part of a text that begins at an offset. Repeated text is ignored."""
        fresh = words[self.length - offset :] if offset <= self.length else ""
        if fresh:
            self.length += len(fresh)
            self._pending.append(fresh)
            if self._drawing is None:
                self._drawing = self.set_timer(DRAW_SECONDS, self.draw)

    async def draw(self) -> None:
        """Show all text received so far."""
        if self._drawing is not None:
            self._drawing.stop()
            self._drawing = None
        words, self._pending = "".join(self._pending), []
        if words:
            self._take(words)
            self.refresh(layout=True)
            # Let the refresh happen before the caller continues.
            await asyncio.sleep(0)

    async def settle(self, words: str) -> None:
        """Show the complete text; nothing more follows."""
        self.grow(0, words)
        await self.draw()

    def _take(self, words: str) -> None:
        shown = plain(words)
        self.source += shown
        self._tail += shown
        while (divided := self._divider.divide(self._tail)).whole:
            self._tail = divided.rest
            self._wholes.append(divided.whole)
            if self._set_for[0]:
                self._set_lines += self._lines(divided.whole, self._set_for[0], joined=divided.joined)
        if self._set_for[0]:
            self._tail_lines = self._lines(self._tail, self._set_for[0], joined=True)

    def _reset(self) -> None:
        self._set_for = (0, "")
        self.refresh(layout=True)

    def _typeset(self, width: int) -> None:
        """Render everything again if the width or theme has changed."""
        if self._set_for == (width, self.app.theme) or not width:
            return
        self._set_for = (width, self.app.theme)
        self._set_lines = self._lines("\n".join(self._wholes), width, joined=False)
        self._tail_lines = self._lines(self._tail, width, joined=True)

    def _lines(self, words: str, width: int, *, joined: bool) -> list[Strip]:
        if not words.strip():
            return []
        colors = self.app.theme_variables
        console = _typesetter(*(colors[name] for name in ("primary", "text-warning", "foreground")))
        options = console.options.update(width=width, height=None)
        words_set = MarkdownText(words, light=not self.app.current_theme.dark)
        lines = [Strip(line) for line in console.render_lines(words_set, options, pad=False)]
        full = [number for number, line in enumerate(lines) if line.text.strip()]
        lines = lines[full[0] : full[-1] + 1] if full else []
        return lines if joined else [*lines, Strip([Segment("")])]

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._typeset(width)
        # The empty line after the last block does not count until more text follows.
        last = 1 if self._set_lines and not self._tail_lines and not self._set_lines[-1].text.strip() else 0
        return max(1, len(self._set_lines) + len(self._tail_lines) - last)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        self._typeset(width)
        lines = self._set_lines
        place = y - len(lines)
        known = lines[y] if place < 0 else self._tail_lines[place] if place < len(self._tail_lines) else Strip([])
        span = self.text_selection.get_span(y) if self.text_selection is not None else None
        if span is not None:
            known = _marked(known, span, self.screen.get_component_rich_style("screen--selection"))
        return known.apply_style(self.rich_style).adjust_cell_length(width, self.rich_style).apply_offsets(0, y)

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        return selection.extract("\n".join(line.text for line in (*self._set_lines, *self._tail_lines))), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()


@cache
def _typesetter(primary: str, code: str, foreground: str) -> Console:
    """Return the console that renders Markdown in a theme's colors."""
    styles = {
        **{f"markdown.h{level}": f"bold {primary}" for level in range(1, 7)},
        **dict.fromkeys(("markdown.item.bullet", "markdown.item.number", "markdown.link"), primary),
        "markdown.code": code,
        "markdown.code_block": foreground,
        "markdown.block_quote": "italic",
        "markdown.link_url": "underline",
    }
    known = {name: style for name, style in styles.items() if not style.startswith("auto")}
    return Console(file=io.StringIO(), color_system="truecolor", force_terminal=True, theme=Theme(known))


def _marked(line: Strip, span: tuple[int, int], style: Style) -> Strip:
    start, end = span[0], line.cell_length if span[1] < 0 else span[1]
    before, marked, after = (line.crop(*part) for part in ((0, start), (start, end), (end, None)))
    return Strip([*before, *Segment.apply_style(marked, post_style=style), *after])
