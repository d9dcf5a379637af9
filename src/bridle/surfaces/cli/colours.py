"""Colours where they help: on a terminal that has them, for who wants them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from bridle.surfaces.cli.paper import is_lively

COLOURS = {"+": "32", "-": "31", "@": "36"}


def has_colours(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether a stream is a terminal, and nobody asked it to do without."""
    return is_lively(stream, environment) and not environment.get("NO_COLOR")


def coloured(text: str) -> str:
    """A diff as a terminal shows it best."""
    lines = []
    for line in text.splitlines(keepends=True):
        colour = "1" if line.startswith(("diff ", "+++", "---")) else COLOURS.get(line[:1], "")
        lines.append(f"\x1b[{colour}m{line.rstrip(chr(10))}\x1b[0m\n" if colour else line)
    return "".join(lines)
