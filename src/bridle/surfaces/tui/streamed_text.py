"""`WordsView`: widget for streamed Markdown; the cost of each new word does not grow with the answer."""

from __future__ import annotations

import asyncio
import io
from functools import cache

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, SyntaxTheme
from rich.theme import Theme
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from bridle.surfaces.shared.markdown_layout import MarkdownText
from bridle.surfaces.shared.markdown_stream import Divider
from bridle.surfaces.shared.safe_text import plain
from bridle.surfaces.tui.code_inks import INKS
from bridle.surfaces.tui.colors import Colors
from bridle.surfaces.tui.rows import decorated
from bridle.surfaces.tui.themes import COLORS

DRAW_SECONDS = 0.08
"""Least time between two drawings."""
MOST_DRAW_SECONDS = 0.4
SPARE = 9
"""After each drawing, this many times as long as it took is left to everything else."""


class WordsView(Widget):
    """Streamed Markdown, redrawn a few times per second regardless of the size of the pieces.

    Finished blocks are rendered once, and again only for another width or theme.
    """

    def __init__(self, words: str = "", *, quiet: bool = False) -> None:
        super().__init__(classes="words quiet" if quiet else "words")
        self.sought = ""
        """Text to mark wherever it is shown."""
        self._ink = "muted" if quiet else "text"
        self._base = Style()
        self.length = len(words)
        self.source = ""
        self._pending: list[str] = []
        self._drawing: Timer | None = None
        self._pause = DRAW_SECONDS
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
                self._drawing = self.set_timer(self._pause, self.draw)

    async def draw(self) -> None:
        """Show all text received so far."""
        if self._drawing is not None:
            self._drawing.stop()
            self._drawing = None
        words, self._pending = "".join(self._pending), []
        if words:
            begun, before = asyncio.get_running_loop().time(), self._height
            first = len(self._set_lines)
            self._take(words)
            if self._height == before:
                self.refresh(Region(0, first, self.content_size.width, max(1, before - first)))
            else:
                # A layout draws what has moved; to draw it before as well would be in vain.
                self.refresh(repaint=False, layout=True)
            self.call_after_refresh(self._drawn, begun)
            # Let the refresh happen before the caller continues.
            await asyncio.sleep(0)

    def _drawn(self, begun: float) -> None:
        """Draw less often where that takes long: on a slow machine, a long answer in a large terminal."""
        took = asyncio.get_running_loop().time() - begun
        self._pause = min(MOST_DRAW_SECONDS, max(DRAW_SECONDS, SPARE * took))

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
        console, syntax = _typesetter(COLORS[self.app.theme], self._ink)
        options = console.options.update(width=width, height=None)
        words_set = MarkdownText(words, light=not self.app.current_theme.dark, syntax=syntax)
        lines = [Strip(line) for line in console.render_lines(words_set, options, pad=False)]
        full = [number for number, line in enumerate(lines) if line.text.strip()]
        lines = lines[full[0] : full[-1] + 1] if full else []
        return lines if joined else [*lines, Strip([Segment("")])]

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        """Take the new size, which the layout has just given. Textual would make the whole layout a second time."""
        return super()._size_updated(size, virtual_size, container_size, False)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._typeset(width)
        return self._height

    @property
    def _height(self) -> int:
        # The empty line after the last block does not count until more text follows.
        last = 1 if self._set_lines and not self._tail_lines and not self._set_lines[-1].text.strip() else 0
        return max(1, len(self._set_lines) + len(self._tail_lines) - last)

    def render_lines(self, crop: Region) -> list[Strip]:
        self._base = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        self._typeset(self.content_size.width)
        lines = self._set_lines
        place = y - len(lines)
        known = lines[y] if place < 0 else self._tail_lines[place] if place < len(self._tail_lines) else Strip([])
        return decorated(self, known, y, self.sought, self._base)

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        return selection.extract("\n".join(line.text for line in (*self._set_lines, *self._tail_lines))), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()


class _CodeTheme(ANSISyntaxTheme):
    """The colors of code in a theme, on a ground of its own."""

    def __init__(self, colors: Colors) -> None:
        tokens = {tuple(name.split(".")[1:]): colors.style(ink) for name, ink in INKS}
        super().__init__({(): colors.style("text"), **tokens})
        self._ground = Style(bgcolor=colors.panel)

    def get_background_style(self) -> Style:
        return self._ground


@cache
def _typesetter(colors: Colors, ink: str) -> tuple[Console, SyntaxTheme]:
    """Return the console that renders Markdown in a theme's colors, and its colors of code."""
    styles: dict[str, Style | str] = {
        **{f"markdown.h{level}": colors.style("bold primary") for level in range(1, 7)},
        "markdown.h1": colors.style("bold underline primary"),
        **dict.fromkeys(("markdown.item.bullet", "markdown.item.number", "markdown.link"), colors.style("primary")),
        "markdown.paragraph": colors.style(ink),
        "markdown.item": colors.style(ink),
        "markdown.code": colors.style("name"),
        "markdown.code_block": colors.style("text"),
        "markdown.block_quote": colors.style("italic muted"),
        "markdown.hr": colors.style("muted"),
        "markdown.link_url": colors.style("underline muted"),
        "markdown.table.border": colors.style("muted"),
        "markdown.table.header": colors.style("bold text"),
    }
    console = Console(file=io.StringIO(), color_system="truecolor", force_terminal=True, theme=Theme(styles))
    return console, _CodeTheme(colors)
