"""`Colors`: the colors of a theme; all text colors have a contrast of at least 4.5 : 1 on all of its backgrounds."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from rich.style import Style
from textual.color import Color

CONTRAST = 4.5
"""Minimum contrast of text by WCAG 2, level AA."""
SPARE = 0.1
"""Excess contrast, because blended colors are rounded."""
BLACK, WHITE = Color(0, 0, 0), Color(255, 255, 255)


class Seed(NamedTuple):
    """The few colors that make a theme: the others are derived from them."""

    background: str
    text: str
    primary: str
    accent: str
    success: str
    warning: str
    error: str
    name: str
    """The color of functions and other names in code."""


class Colors(NamedTuple):
    """The colors of a theme. Those of a terminal with 16 colors are names and not values."""

    background: str
    panel: str
    raised: str
    added: str
    removed: str
    border: str
    text: str
    muted: str
    primary: str
    accent: str
    success: str
    warning: str
    error: str
    name: str

    def style(self, ink: str, ground: str = "") -> Style:
        """Return the style of an ink, such as "muted", "bold error" or "muted@added", on a ground, such as "panel"."""
        return _style(self, ink, ground)


INKS = ("text", "muted", "primary", "accent", "success", "warning", "error", "name")
GROUNDS = ("background", "panel", "raised", "added", "removed")


@cache
def _style(colors: Colors, ink: str, ground: str) -> Style:
    ink, _, own = ink.partition("@")
    ground = own or ground
    *effects, name = ink.split()
    background = getattr(colors, ground) if ground else None
    return Style.parse(" ".join([*effects, getattr(colors, name)])) + Style(bgcolor=background)


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two colors, from 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def readable(color: Color, grounds: list[Color]) -> Color:
    """Return the nearest color, toward white or black, that is readable on all backgrounds."""
    toward = WHITE if sum(map(_luminance, grounds)) / len(grounds) < 0.18 else BLACK
    for share in range(0, 101, 4):
        found = color.blend(toward, share / 100, alpha=1.0)
        if all(contrast(found, ground) >= CONTRAST + SPARE for ground in grounds):
            return found
    return toward


@cache
def derived(seed: Seed) -> Colors:
    """Return all colors of a theme."""
    background, text = Color.parse(seed.background), Color.parse(seed.text)
    success, error = Color.parse(seed.success), Color.parse(seed.error)
    dark = _luminance(background) < 0.18
    panel, raised = (background.blend(text, share, alpha=1.0) for share in ((0.045, 0.09) if dark else (0.035, 0.075)))
    tint = 0.16 if dark else 0.14
    added, removed = (background.blend(color, tint, alpha=1.0) for color in (success, error))
    grounds = [background, panel, raised, added, removed]
    inks = {
        "text": text,
        "muted": text.blend(background, 0.38, alpha=1.0),
        "primary": Color.parse(seed.primary),
        "accent": Color.parse(seed.accent),
        "success": success,
        "warning": Color.parse(seed.warning),
        "error": error,
        "name": Color.parse(seed.name),
    }
    return Colors(
        background=background.hex6,
        panel=panel.hex6,
        raised=raised.hex6,
        added=added.hex6,
        removed=removed.hex6,
        border=background.blend(text, 0.28, alpha=1.0).hex6,
        **{name: readable(color, grounds).hex6 for name, color in inks.items()},
    )
