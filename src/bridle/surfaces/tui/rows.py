"""`RowsView`: base of widgets that show rows of text in a theme's colors, typeset once for each width and theme."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from bridle.surfaces.shared.safe_text import plain
from bridle.surfaces.tui.colors import Colors
from bridle.surfaces.tui.themes import COLORS

TAB = 4
LEAST_WIDTH = 4
REDRAW_SECONDS = 0.1
Piece = tuple[str, str]
"""Text and its ink, such as "muted" or "bold error"."""


class TextRow(NamedTuple):
    """A line of text, which wraps; `right` stands at the right end of its first line if there is room."""

    pieces: tuple[Piece, ...]
    ground: str = ""
    hang: int = 0
    """Indentation of continuation lines."""
    right: tuple[Piece, ...] = ()


BLANK = TextRow(())


def row(text: str, ink: str = "text", ground: str = "", hang: int = 0) -> TextRow:
    """Return a row of one piece."""
    return TextRow(((text, ink),), ground, hang)


def body(text: str, ink: str = "muted", *, indent: int = 0, ground: str = "") -> list[TextRow]:
    """Return the rows of a text of several lines."""
    return [TextRow(((" " * indent, ink), (line, ink)), ground, indent) for line in text.split("\n")]


def typeset(rows: Iterable[TextRow], width: int, colors: Colors) -> list[Strip]:
    """Return the lines of rows at a width."""
    return [strip for each in rows for strip in _lines(each, max(width, LEAST_WIDTH), colors)]


def _lines(each: TextRow, width: int, colors: Colors) -> list[Strip]:
    found = [(plain(text).replace("\n", " ").expandtabs(TAB), ink) for text, ink in each.pieces]
    pieces = [Segment(text, colors.style(ink, each.ground)) for text, ink in found if text]
    used = sum(cell_len(piece.text) for piece in pieces)
    right = [Segment(plain(text), colors.style(ink, each.ground)) for text, ink in each.right]
    space = width - used - sum(cell_len(piece.text) for piece in right)
    if right and space >= 2:
        return [Strip([*pieces, Segment(" " * space, colors.style("text", each.ground)), *right], width)]
    if used <= width:
        return [_filled(pieces, used, width, each.ground, colors)]
    return [_filled(line, -1, width, each.ground, colors) for line in _wrapped([*pieces, *_spaced(right)], each, width)]


def _spaced(right: Sequence[Segment]) -> list[Segment]:
    """Return pieces that found no room at the right end, for the end of the text."""
    return [Segment("  ", right[0].style), *right] if right else []


def _wrapped(pieces: Iterable[Segment], each: TextRow, width: int) -> Iterable[list[Segment]]:
    hang = each.hang if each.hang < width // 2 else 0
    text = Text.assemble(*((piece.text, piece.style or Style()) for piece in pieces), end="")
    lead, rest = text.divide([hang]) if hang else (Text(""), text)
    lines = rest.wrap(_console(), width - hang, overflow="fold", tab_size=TAB) or [Text("")]
    for number, line in enumerate(lines):
        yield [*(_segments(lead) if number == 0 else [Segment(" " * hang)] * bool(hang)), *_segments(line)]


def _segments(text: Text) -> list[Segment]:
    return [piece for piece in text.render(_console()) if piece.text]


@cache
def _console() -> Console:
    return Console(width=80, color_system="truecolor", force_terminal=True, legacy_windows=False)


def _filled(pieces: Sequence[Segment], used: int, width: int, ground: str, colors: Colors) -> Strip:
    """Return a line; its ground reaches to the right end."""
    if not ground:
        return Strip(pieces, used if used >= 0 else None)
    used = used if used >= 0 else sum(cell_len(piece.text) for piece in pieces)
    style = colors.style("text", ground)
    grounded = [piece if piece.style else Segment(piece.text, style) for piece in pieces]
    return Strip([*grounded, Segment(" " * max(0, width - used), style)], max(used, width))


class RowsView(Widget):
    """Rows of text. A subclass overrides `rows`, or gives them once."""

    def __init__(self, rows: Iterable[TextRow] = (), *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._rows = tuple(rows)
        self._strips: list[Strip] = []
        self._set_for: tuple[int, str] = (0, "")
        self.sought = ""
        """Text to mark wherever it is shown."""
        self.base = Style()
        """The style below all lines, which takes long to find out."""

    def rows(self, width: int) -> Iterable[TextRow]:
        """Return the rows at a width."""
        return self._rows

    def on_mount(self) -> None:
        self.watch(self.app, "theme", self.redraw, init=False)

    def show_rows(self, rows: Iterable[TextRow]) -> None:
        """Show other rows, if they differ."""
        fresh = tuple(rows)
        if fresh != self._rows:
            self._rows = fresh
            self.redraw()

    def redraw(self) -> None:
        """Typeset the rows again. The layout is only made again if their number changes."""
        if not self.is_attached or not self._set_for[0]:
            self._set_for = (0, "")
            return
        before, width = len(self._strips), self._set_for[0]
        self._set_for = (0, "")
        self._typeset(width)
        self.refresh(layout=len(self._strips) != before)

    def _typeset(self, width: int) -> None:
        wanted = (width, self.app.theme)
        if self._set_for != wanted and width:
            self._set_for = wanted
            self._strips = typeset(self.rows(width), width, COLORS[self.app.theme])

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._typeset(width)
        return len(self._strips)

    def render_lines(self, crop: Region) -> list[Strip]:
        self.base = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        self._typeset(self.content_size.width)
        shown = self._strips[y] if y < len(self._strips) else Strip([])
        return decorated(self, shown, y, self.sought, self.base)

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        return selection.extract("\n".join(strip.text.rstrip() for strip in self._strips)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()


def decorated(widget: Widget, strip: Strip, y: int, sought: str, base: Style) -> Strip:
    """Return a line of a widget as it is drawn: with the selection, marks of sought text, and the background."""
    width = widget.content_size.width
    if sought:
        mark = Style(reverse=True, bold=True)
        for start in found_in(strip.text, sought):
            strip = marked(strip, (start, start + cell_len(sought)), mark)
    span = widget.text_selection.get_span(y) if widget.text_selection is not None else None
    if span is not None:
        strip = marked(strip, span, widget.screen.get_component_rich_style("screen--selection"))
    return strip.apply_style(base).adjust_cell_length(width, base).apply_offsets(0, y)


def found_in(text: str, sought: str) -> list[int]:
    """Return the cells at which a text begins in another one, in any case."""
    folded, wanted = text.casefold(), sought.casefold()
    found, place = [], folded.find(wanted)
    while place >= 0:
        found.append(cell_len(text[:place]))
        place = folded.find(wanted, place + len(wanted))
    return found


def marked(line: Strip, span: tuple[int, int], style: Style) -> Strip:
    """Return a line with another style in a span of cells; -1 stands for its end."""
    start, end = span[0], line.cell_length if span[1] < 0 else span[1]
    before, inside, after = (line.crop(*part) for part in ((0, start), (start, end), (end, None)))
    return Strip([*before, *Segment.apply_style(inside, post_style=style), *after])


class FoldedView(RowsView):
    """Rows that expand and collapse, by click or enter."""

    can_focus = True

    def __init__(self, *, classes: str) -> None:
        super().__init__(classes=f"folded {classes}")
        self.opened = False
        self._soon: Timer | None = None

    def toggle(self) -> None:
        self.opened = not self.opened
        self.redraw()

    def redraw_soon(self) -> None:
        """Typeset the rows again, a few times per second however often they change."""
        if self._soon is None and self.is_attached:
            self._soon = self.set_timer(REDRAW_SECONDS, self.redraw)

    def redraw(self) -> None:
        if self._soon is not None:
            self._soon.stop()
            self._soon = None
        super().redraw()

    def unfold(self) -> None:
        """Show everything."""
        self.opened = True
        self.redraw()

    def shows_text(self, text: str) -> bool:
        """Return whether a text is visible now."""
        return any(found_in(strip.text, text) for strip in self._strips) if text else True

    def on_click(self, event: events.Click) -> None:
        event.stop()
        # The end of a selection with the mouse is no click.
        if not self.screen.get_selected_text():
            self.toggle()

    def on_key(self, event: events.Key) -> None:
        if event.key in ("enter", "space"):
            event.stop()
            self.toggle()
