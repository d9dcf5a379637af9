"""The names of the terminal application's color themes."""

from __future__ import annotations

from typing import Literal

ThemeName = Literal[
    "auto",
    "dark",
    "light",
    "contrast",
    "terminal",
    "catppuccin",
    "catppuccin-latte",
    "dracula",
    "everforest",
    "github-light",
    "gruvbox",
    "gruvbox-light",
    "monokai",
    "nord",
    "one-dark",
    "rose-pine",
    "solarized",
    "solarized-light",
    "tokyo-night",
]
"""`auto` is `dark` or `light`, by the terminal's background; `terminal` uses the 16 colors of the terminal."""
