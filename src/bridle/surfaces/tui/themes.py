"""Color themes of the terminal application, and the colors that Textual's own widgets get from them."""

from __future__ import annotations

from textual.color import Color
from textual.theme import Theme

from bridle.surfaces.tui.colors import Colors, Seed, derived

HEX = {
    # background text primary accent success warning error name
    "dark": "#0d1014 #e4e7eb #6ca8ff #c792ea #5fd38d #f0b35a #ff7a7a #7fd1e8",
    "light": "#ffffff #1c2024 #1f5fbf #7a3fb0 #1a7f42 #8f5a00 #c0262d #0f6f86",
    "contrast": "#000000 #ffffff #ffff00 #00ffff #00ff60 #ffb000 #ff6060 #00ffff",
    "catppuccin": "#1e1e2e #cdd6f4 #89b4fa #cba6f7 #a6e3a1 #f9e2af #f38ba8 #89dceb",
    "catppuccin-latte": "#eff1f5 #4c4f69 #1e66f5 #8839ef #40a02b #df8e1d #d20f39 #04a5e5",
    "dracula": "#282a36 #f8f8f2 #bd93f9 #ff79c6 #50fa7b #f1fa8c #ff5555 #8be9fd",
    "everforest": "#2d353b #d3c6aa #7fbbb3 #d699b6 #a7c080 #dbbc7f #e67e80 #83c092",
    "github-light": "#ffffff #1f2328 #0969da #8250df #1a7f37 #9a6700 #cf222e #0550ae",
    "gruvbox": "#282828 #ebdbb2 #83a598 #d3869b #b8bb26 #fabd2f #fb4934 #8ec07c",
    "gruvbox-light": "#fbf1c7 #3c3836 #076678 #8f3f71 #79740e #b57614 #9d0006 #427b58",
    "monokai": "#272822 #f8f8f2 #66d9ef #ae81ff #a6e22e #e6db74 #f92672 #66d9ef",
    "nord": "#2e3440 #eceff4 #88c0d0 #b48ead #a3be8c #ebcb8b #bf616a #8fbcbb",
    "one-dark": "#282c34 #abb2bf #61afef #c678dd #98c379 #e5c07b #e06c75 #56b6c2",
    "rose-pine": "#191724 #e0def4 #9ccfd8 #c4a7e7 #31748f #f6c177 #eb6f92 #ebbcba",
    "solarized": "#002b36 #93a1a1 #268bd2 #6c71c4 #859900 #b58900 #dc322f #2aa198",
    "solarized-light": "#fdf6e3 #586e75 #268bd2 #6c71c4 #859900 #b58900 #dc322f #2aa198",
    "tokyo-night": "#1a1b26 #c0caf5 #7aa2f7 #bb9af7 #9ece6a #e0af68 #f7768e #7dcfff",
}
SEEDS = {name: Seed(*colors.split()) for name, colors in HEX.items()}
TERMINAL = Colors(
    background="default",
    panel="default",
    raised="default",
    added="default",
    removed="default",
    border="white",
    text="default",
    muted="default",
    primary="cyan",
    accent="magenta",
    success="green",
    warning="yellow",
    error="red",
    name="cyan",
)
"""Colors by name: the terminal itself chooses those that are readable on its background."""
COLORS = {**{name: derived(seed) for name, seed in SEEDS.items()}, "terminal": TERMINAL}


def themes() -> list[Theme]:
    """Return all themes for Textual."""
    return [_terminal(), *(_theme(name, COLORS[name]) for name in SEEDS)]


def is_dark(name: str) -> bool:
    """Return whether a theme has a dark background."""
    return name not in SEEDS or Color.parse(SEEDS[name].background).brightness < 0.5


def _variables(colors: Colors) -> dict[str, str]:
    on_primary = Color.parse(colors.background).hex6
    return {
        **{
            f"text-{ink}": getattr(colors, ink) for ink in ("muted", "primary", "accent", "success", "warning", "error")
        },
        "text": colors.text,
        "text-disabled": colors.muted,
        "foreground-disabled": colors.muted,
        "text-secondary": colors.accent,
        "raised": colors.raised,
        "line": colors.border,
        "foreground-muted": colors.muted,
        "border": colors.primary,
        "border-blurred": colors.border,
        "block-cursor-foreground": on_primary,
        "block-cursor-background": colors.primary,
        "block-cursor-blurred-foreground": colors.text,
        "block-cursor-blurred-background": colors.raised,
        "block-hover-background": colors.raised,
        "button-foreground": colors.text,
        "button-color-foreground": on_primary,
        "footer-background": colors.background,
        "footer-foreground": colors.muted,
        "footer-description-foreground": colors.muted,
        "footer-key-foreground": colors.text,
        "input-selection-background": colors.raised,
        "screen-selection-background": colors.primary,
        "screen-selection-foreground": on_primary,
        "link-color": colors.primary,
        "link-color-hover": colors.primary,
        "link-background-hover": colors.raised,
        "scrollbar": colors.border,
        "scrollbar-hover": colors.muted,
        "scrollbar-active": colors.primary,
        **dict.fromkeys((f"scrollbar-{part}" for part in SCROLLBAR), colors.background),
    }


def _theme(name: str, colors: Colors) -> Theme:
    return Theme(
        name,
        primary=colors.primary,
        secondary=colors.accent,
        accent=colors.accent,
        success=colors.success,
        warning=colors.warning,
        error=colors.error,
        foreground=colors.text,
        background=colors.background,
        surface=colors.panel,
        panel=colors.panel,
        dark=is_dark(name),
        variables=_variables(colors),
    )


SCROLLBAR = ("background", "background-hover", "background-active", "corner-color")


def _terminal() -> Theme:
    variables = {
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "raised": "ansi_default",
        "line": "ansi_white",
        "text-muted": "ansi_default",
        "foreground-muted": "ansi_default",
        "border": "ansi_cyan",
        "border-blurred": "ansi_white",
        "block-cursor-foreground": "ansi_black",
        "block-cursor-background": "ansi_cyan",
        "footer-key-foreground": "ansi_cyan",
        "input-cursor-background": "ansi_default",
        "input-cursor-foreground": "ansi_default",
        "input-cursor-text-style": "reverse",
        "screen-selection-background": "ansi_cyan",
        "screen-selection-foreground": "ansi_black",
        "scrollbar": "ansi_white",
        **dict.fromkeys((f"scrollbar-{part}" for part in SCROLLBAR), "ansi_default"),
    }
    return Theme(
        "terminal",
        ansi=True,
        primary="ansi_cyan",
        secondary="ansi_magenta",
        accent="ansi_magenta",
        success="ansi_green",
        warning="ansi_yellow",
        error="ansi_red",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        variables=variables,
    )
