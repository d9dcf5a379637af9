"""Rows of a diff: one column, or both files side by side where the terminal is wide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from rich.cells import cell_len

from bridle.surfaces.shared.diff_lines import DiffLine, DiffOfFile, file_diffs
from bridle.surfaces.shared.safe_text import plain
from bridle.surfaces.tui.code_inks import Highlighter, highlighter
from bridle.surfaces.tui.rows import TAB, Piece, TextRow, body

LEAST_SIDE = 36
"""Narrower halves are shown in one column."""
LONG_SHARE = 0.2
NEW_OR_GONE = {"added": "new", "deleted": "deleted"}
SIGNS = {"added": "+", "removed": "-", "same": " "}
INKS = {"added": "success", "removed": "error", "same": "muted"}
NO_GROUND = {"added": "added", "removed": "removed", "same": ""}


class Side(NamedTuple):
    """A line in one of two columns; without a line it is empty."""

    line: DiffLine | None
    number: int


def counts(diff: DiffOfFile) -> tuple[Piece, ...]:
    """Return the numbers of added and removed lines."""
    found: list[Piece] = []
    if diff.added:
        found.append((f"+{diff.added}", "success"))
    if diff.removed:
        found.append((" " if found else "", "muted"))
        found.append((f"-{diff.removed}", "error"))
    return tuple(found)


def change_rows(diff: str, width: int, *, wide: bool) -> Iterator[TextRow]:
    """Yield the rows of a whole diff for a person who decides about it: nothing is left out or cut."""
    files = file_diffs(diff) if diff.startswith("--- ") else []
    for each in files:
        how = () if each.how == "changed" else ((f"  {NEW_OR_GONE[each.how]}", "muted"),)
        yield TextRow(((each.path, "bold text"), ("  ", "muted"), *counts(each), *how), hang=2)
        yield from diff_rows(each, width, len(each.lines), wide=wide, cuts=False)
    if not files:
        yield from body(diff, "text")


def diff_rows(diff: DiffOfFile, width: int, most: int, *, wide: bool, cuts: bool = True) -> Iterator[TextRow]:
    """Yield the rows of a file's diff, up to a number of lines.

    `wide` allows two columns, in which a few longer lines may be cut if `cuts`.
    """
    lines = diff.lines[:most]
    numbers = len(str(max((max(line.old, line.new) for line in lines), default=0)))
    gutter = numbers if any(line.old or line.new for line in lines) else 0
    inks = highlighter(diff.path)
    side = (width - 1) // 2
    if wide and side >= LEAST_SIDE and _pays(lines, side - gutter - 4, LONG_SHARE if cuts else 0):
        yield from _beside(lines, side, gutter, inks)
    else:
        for line in lines:
            yield _row(line, gutter, inks)
    if len(diff.lines) > most:
        yield TextRow(((f"… {len(diff.lines) - most} more lines", "muted"),))


def _pays(lines: Sequence[DiffLine], room: int, share: float) -> bool:
    """Return whether two columns show more: something was replaced, and only this share of the lines is too long."""
    kinds = {line.kind for line in lines}
    long = sum(cell_len(plain(line.text).expandtabs(TAB)) > room for line in lines)
    return {"added", "removed"} <= kinds and long <= len(lines) * share


def _gap(gutter: int) -> TextRow:
    return TextRow((("⋯".rjust(max(gutter, 1)), "muted"),))


def _row(line: DiffLine, gutter: int, inks: Highlighter) -> TextRow:
    if line.kind == "gap":
        return _gap(gutter)
    if line.kind == "note":
        return TextRow(((line.text, "muted"),))
    return TextRow(tuple(_pieces(line, line.new or line.old, gutter, inks)), NO_GROUND[line.kind], hang=gutter + 3)


def _pieces(line: DiffLine, number: int, gutter: int, inks: Highlighter) -> Iterator[Piece]:
    shown = str(number) if number else ""
    yield (shown.rjust(gutter), "muted")
    yield (f" {SIGNS[line.kind]} " if gutter else f"{SIGNS[line.kind]}  ", INKS[line.kind])
    yield from inks(line.text)


def _beside(lines: Sequence[DiffLine], side: int, gutter: int, inks: Highlighter) -> Iterator[TextRow]:
    for left, right in _pairs(lines):
        if left is not None and left.kind in ("gap", "note"):
            yield _row(left, gutter, inks)
            continue
        pieces = [*_half(left, left.old if left else 0, side, gutter, inks), ("│", "muted")]
        pieces += _half(right, right.new if right else 0, side, gutter, inks)
        yield TextRow(tuple(pieces))


def _pairs(lines: Sequence[DiffLine]) -> Iterator[tuple[DiffLine | None, DiffLine | None]]:
    """Yield the lines of both columns: removed lines beside those that replace them."""
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in (*lines, None):
        if line is not None and line.kind == "removed" and not added:
            removed.append(line)
            continue
        if line is not None and line.kind == "added":
            added.append(line)
            continue
        yield from zip_longest(removed, added)
        removed, added = [], []
        if line is not None and line.kind == "removed":
            removed.append(line)
        elif line is not None:
            yield line, line


def _half(line: DiffLine | None, number: int, side: int, gutter: int, inks: Highlighter) -> list[Piece]:
    """Return a line in a column of this width, cut where it is longer."""
    if line is None:
        return [(" " * side, "text")]
    room, found, used = side, [], 0
    ground = f"@{line.kind}" if line.kind in ("added", "removed") else ""
    for text, ink in _pieces(line, number, gutter, inks):
        shown = plain(text).expandtabs(TAB)
        if used + cell_len(shown) > room:
            shown = _cut(shown, room - used)
        found.append((shown, ink + ground))
        used += cell_len(shown)
    return [*found, (" " * (side - used), "text" + ground)]


def _cut(text: str, cells: int) -> str:
    while text and cell_len(text) + 1 > cells:
        text = text[:-1]
    return f"{text}…" if cells > 0 else ""
