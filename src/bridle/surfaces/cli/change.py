"""Draws a change for a terminal as the terminal application does: numbered, and side by side where it is wide.

Of long lines nothing is cut.
"""

from __future__ import annotations

from typing import TextIO

from rich.console import Console
from rich.segment import Segments

from bridle.surfaces.tui.diff_rows import change_rows
from bridle.surfaces.tui.rows import typeset
from bridle.surfaces.tui.themes import COLORS
from bridle.surfaces.tui.views import WIDE


def drawn(diff: str, stream: TextIO, margin: int) -> list[str]:
    """Return the lines of a diff for a stream, in the terminal's own colors; `margin` columns stay free."""
    console = Console(file=stream, force_terminal=True, markup=False, emoji=False, highlight=False)
    # A full line would wrap in some terminals.
    width = console.width - margin - 1
    lines = []
    for strip in typeset(change_rows(diff, width, wide=console.width >= WIDE), width, COLORS["terminal"]):
        with console.capture() as captured:
            console.print(Segments(strip), end="")
        lines.append(captured.get())
    return lines
