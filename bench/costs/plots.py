"""Plots as plain SVG that are readable on light and on dark pages: curves on logarithmic axes, and bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 860.0, 440.0
LEFT, RIGHT, TOP, BOTTOM = 76.0, 218.0, 52.0, 48.0
BAR_LEFT, BAR_RIGHT, BAR, GAP = 218.0, 96.0, 15.0, 9.0
LABEL = 15.0
TICK = 40.0
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #3a3f47 } .title { font-size: 15px; font-weight: 600; fill: #16191d }
.note { fill: #6a717c } .grid { stroke: #e3e6ea } .own { font-weight: 700; fill: #16191d } .page { fill: #ffffff }
.line { fill: none; stroke-width: 1.8 } .line.own { stroke-width: 3.2 } .soft { opacity: .38 }
@media (prefers-color-scheme: dark) {
text { fill: #b9c0ca } .title, .own { fill: #f2f4f7 } .note { fill: #8b939f } .grid { stroke: #2c323a }
.page { fill: #14171b } }
"""
COLOURS = ("#d9480f", "#0b8a5f", "#b0569f", "#8a6d00", "#c2255c", "#1d7fa8", "#6b7280", "#5b5bd6", "#7a8b1f")
OWN_COLOURS = ("#2f6feb", "#5a94ff", "#8ab4ff", "#1f4fb8", "#79a7f5")


class Curve(NamedTuple):
    """A line through points; our own are drawn stronger."""

    name: str
    colour: str
    own: bool
    points: Sequence[tuple[float, float]]


class Bars(NamedTuple):
    """One row of a bar chart: values from the darkest, shortest part to the whole."""

    name: str
    colour: str
    own: bool
    values: Sequence[float]


def words(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    named = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{named} text-anchor="{anchor}">{escape(text)}</text>'


def frame(height: float, title: str, note: str, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img">'
    page = f'<rect class="page" width="{WIDTH:.0f}" height="{height:.0f}" rx="6"/>'
    lines = [f"<title>{escape(title)}</title><style>{STYLE}</style>", page]
    lines += [words(16, 24, title, "title"), words(16, 41, note, "note"), *parts]
    return "\n".join([head, *lines, "</svg>", ""])


def decades(low: float, high: float) -> list[float]:
    """The powers of ten around these values."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def colours(own: Sequence[str], others: Sequence[str]) -> dict[str, str]:
    """Blues for our own, and other colours for others."""
    return dict(zip([*own, *others], [*OWN_COLOURS[: len(own)], *COLOURS], strict=False))


def spread(wanted: Sequence[float], low: float, high: float) -> list[float]:
    """Places for labels, as near as possible to where they are wanted, and apart from each other."""
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    places = list(wanted)
    for before, at in zip([None, *order], order, strict=False):
        places[at] = max(low, wanted[at]) if before is None else max(places[at], places[before] + LABEL)
    over = max(0.0, places[order[-1]] - high) if order else 0.0
    for at in reversed(order):
        places[at] -= over
        following = [places[other] for other in order if places[other] > places[at]]
        if following:
            over = max(0.0, min(over, places[at] + over + LABEL - min(following)))
    return places


def curves(title: str, note: str, rows: Sequence[Curve], unit: Callable[[float], str], axis: str) -> str:
    """Curves over steps; both axes are logarithmic, so that a straight slope is growth by a power."""
    rows = [row for row in rows if len(row.points) > 1]
    steps = [x for row in rows for x, _ in row.points]
    ticks = decades(min(y for row in rows for _, y in row.points), max(y for row in rows for _, y in row.points))
    low, high = math.log(min(steps)), math.log(max(steps))
    bottom, top = math.log(ticks[0]), math.log(ticks[-1])
    floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def across(x: float) -> float:
        return LEFT + (math.log(x) - low) / (high - low) * (right - LEFT)

    def up(y: float) -> float:
        return floor - (math.log(y) - bottom) / (top - bottom) * (floor - TOP - 8)

    parts = []
    for tick in ticks:
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{up(tick):.1f}" y2="{up(tick):.1f}"/>')
        parts.append(words(LEFT - 8, up(tick) + 4, unit(tick), "note", "end"))
    shown = LEFT - TICK
    for step in sorted(set(steps)):
        if across(step) < shown + TICK or (step != max(steps) and across(step) > right - TICK):
            continue
        shown = across(step)
        parts.append(words(across(step), floor + 18, f"{step:,.0f}", "note", "middle"))
    parts.append(words((LEFT + right) / 2, HEIGHT - 10, axis, "note", "middle"))
    places = spread([up(row.points[-1][1]) + 4 for row in rows], TOP + 12, floor)
    for row, place in zip(rows, places, strict=True):
        points = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in row.points)
        style = "line own" if row.own else "line"
        parts.append(f'<polyline class="{style}" stroke="{row.colour}" points="{points}"/>')
        x, y = across(row.points[-1][0]), up(row.points[-1][1])
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{row.colour}"/>')
        link = f"{x + 5:.1f},{y:.1f} {right + 8:.1f},{place - 4:.1f}"
        parts.append(f'<polyline class="line soft" style="stroke-width:1" stroke="{row.colour}" points="{link}"/>')
        parts.append(words(right + 12, place, row.name, "own" if row.own else ""))
    return frame(HEIGHT, title, note, parts)


def bars(title: str, note: str, rows: Sequence[Bars], unit: str) -> str:
    """Bars of one length scale; what comes after the first value is drawn softer."""
    longest = max(max(row.values) for row in rows)
    height = TOP + len(rows) * (BAR + GAP) + 12
    parts = []
    for at, row in enumerate(rows):
        y = TOP + at * (BAR + GAP)
        parts.append(words(BAR_LEFT - 10, y + 12, row.name, "own" if row.own else "", "end"))
        for place, value in reversed(list(enumerate(row.values))):
            wide = max(1.5, value / longest * (WIDTH - BAR_LEFT - BAR_RIGHT))
            soft = ' class="soft"' if place else ""
            size = f'x="{BAR_LEFT}" y="{y:.1f}" width="{wide:.1f}" height="{BAR}"'
            parts.append(f'<rect {size} rx="2" fill="{row.colour}"{soft}/>')
        end = BAR_LEFT + max(1.5, max(row.values) / longest * (WIDTH - BAR_LEFT - BAR_RIGHT))
        said = " → ".join(unit.format(value) for value in row.values)
        parts.append(words(end + 7, y + 12, said, "own" if row.own else "note"))
    return frame(height, title, note, parts)
