"""`Screen`: the `Writer` for a capable terminal, with streamed Markdown, colors, and status lines at the bottom."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from bridle.surfaces.cli.writer import Writer
from bridle.surfaces.shared.markdown_layout import MarkdownText
from bridle.surfaces.shared.markdown_stream import Divider
from bridle.surfaces.shared.safe_text import plain

DRAW_SECONDS = 0.08
MOST_TAIL_LINES = 12
MARGIN = 3
"""Free columns at the end of status lines, where a terminal echoes ^C."""
COLOR = re.compile("\x1b\\[[0-9;]*m")
PADDING = re.compile(" +((?:\x1b\\[0?m)?)$")
ERASE_LINE = "\r\x1b[2K"
ERASE_LINE_ABOVE = "\x1b[1A\x1b[2K"
STYLES = {
    **dict.fromkeys(("!", "⊘", "↻"), "yellow"),
    **dict.fromkeys(("~", "→", "●"), "cyan"),
    **dict.fromkeys(("step", "session"), "dim"),
    "■": "bold yellow",
    "✓": "green",
    "✗": "red",
    "?": "bold magenta",
}


class Screen(Writer):
    """A terminal that shows text as it arrives, and renders each block when it is complete.

    The status lines are drawn on standard error and erased before anything is printed, so that both streams may go to
    one terminal, or the answer elsewhere.
    """

    lively = True

    def __init__(self, out: TextIO, beside: TextIO, *, quiet: bool, light: bool = False) -> None:
        super().__init__(out, beside, quiet=quiet)
        self._console = Console(file=beside, force_terminal=True, markup=False, emoji=False, highlight=False)
        self._light = light
        self._divider = Divider()
        self._pending = ""
        self._live: tuple[str, ...] = ()
        self._drawn: list[str] = []
        self._drawn_at = 0.0

    def words(self, text: str) -> None:
        if not self.early:
            self._erase()
            super().words(text)
            return
        self._pending += plain(text)
        if asyncio.get_running_loop().time() - self._drawn_at >= DRAW_SECONDS:
            self._settle()
            self._draw()

    def end_words(self) -> None:
        if self._pending:
            words, self._pending = self._pending, ""
            self._print(words)
            self._draw()
        self._erase_before(super().end_words)

    def say(self, line: str, *, always: bool = False) -> None:
        if self._pending:
            self.end_words()
        self._erase_before(lambda: super(Screen, self).say(line, always=always))

    def _set(self, line: str) -> str:
        return self._rendered(_styled(line), wrap=True)

    def live(self, lines: Sequence[str]) -> None:
        self._live = () if self.quiet else tuple(map(plain, lines))
        self._settle()
        self._draw()

    def _erase_before(self, write: Callable[[], None]) -> None:
        self._erase()
        write()
        self._draw()

    def _settle(self) -> None:
        """Print the blocks that are complete."""
        divided = self._divider.divide(self._pending)
        self._pending = divided.rest
        if divided.whole:
            self._print(divided.whole, joined=divided.joined)

    def _print(self, words: str, *, joined: bool = False) -> None:
        self._erase()
        lines = self._lines(words)
        self._out.write("\n".join(lines) + ("\n" if joined else "\n\n") if lines else "")
        self._out.flush()

    def _lines(self, words: str) -> list[str]:
        """Return the rendered lines, without leading and trailing empty ones."""
        lines = [
            PADDING.sub(r"\1", line) for line in self._rendered(MarkdownText(words, light=self._light)).split("\n")
        ]
        full = [number for number, line in enumerate(lines) if COLOR.sub("", line).strip()]
        return lines[full[0] : full[-1] + 1] if full else []

    def _rendered(self, what: RenderableType, *, wrap: bool = False) -> str:
        with self._console.capture() as captured:
            # Leave one column free: terminals differ in how they wrap a full line.
            self._console.print(what, soft_wrap=wrap, width=max(2, self._console.width - 1), end="")
        return captured.get().rstrip("\n")

    def _erase(self) -> None:
        if self._drawn:
            self._beside.write(self._erasing())
            self._beside.flush()
            self._drawn = []

    def _erasing(self) -> str:
        """Return the escape codes that erase all drawn lines, even if the terminal has become narrower."""
        width = self._console.width
        rows = sum(max(1, -(-cell_len(COLOR.sub("", line)) // width)) for line in self._drawn)
        return ERASE_LINE + ERASE_LINE_ABOVE * (rows - 1) if rows else ""

    def _draw(self) -> None:
        """Draw everything that is not final, in one write to avoid flicker."""
        self._drawn_at = asyncio.get_running_loop().time()
        width, height = self._console.size
        tail = self._lines(self._pending)
        most = max(1, min(MOST_TAIL_LINES, height - 2 - len(self._live)))
        lines = tail[-most:] + [self._cropped(line, width - MARGIN) for line in self._live[: max(1, height - 2)]]
        if lines != self._drawn:
            self._beside.write(self._erasing() + "\n".join(lines))
            self._beside.flush()
            self._drawn = lines

    def _cropped(self, line: str, width: int) -> str:
        words = _styled(line)
        words.truncate(width, overflow="ellipsis")
        return self._rendered(words, wrap=True)


def _styled(line: str) -> Text:
    """Return a line in the style of the mark that it begins with."""
    return Text(line, STYLES.get(line.lstrip(" │").split(" ", 1)[0], ""))
