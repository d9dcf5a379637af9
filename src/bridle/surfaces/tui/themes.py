"""Color themes of the terminal application: dark, light and high contrast."""

from textual.theme import Theme

THEMES = {"auto": "textual-dark", "dark": "textual-dark", "light": "textual-light", "contrast": "bridle-contrast"}
CONTRAST = Theme(
    "bridle-contrast",
    primary="#ffff00",
    secondary="#00ffff",
    warning="#ffb000",
    error="#ff6060",
    success="#00ff60",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#101010",
    dark=True,
)
