"""`Writer`: prints a run plainly, answer to stdout and the rest to stderr; `output_writer` returns it or a `Screen`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from bridle.surfaces.shared.safe_text import plain


class Writer:
    """Plain output without escape codes, for a pipe, a file or a dumb terminal."""

    lively = False
    """Whether status lines can be drawn and erased."""

    def __init__(self, out: TextIO, beside: TextIO, *, quiet: bool) -> None:
        self._out = out
        self._beside = beside
        self.quiet = quiet
        self._open_line = False
        self.early = out.isatty()
        """Whether to show text before it is recorded: only on a terminal, since programs must not read a failed try."""

    def words(self, text: str) -> None:
        """Write more of the answer."""
        self._out.write(plain(text))
        self._out.flush()
        self._open_line = not text.endswith("\n")

    def end_words(self) -> None:
        """End the current line of the answer."""
        if self._open_line:
            self._out.write("\n")
            self._out.flush()
            self._open_line = False

    def say(self, line: str, *, always: bool = False) -> None:
        """Write a line about the run; `always` writes it even in quiet mode."""
        if always or not self.quiet:
            self._beside.write(f"{self._set(plain(line))}\n")
            self._beside.flush()

    def _set(self, line: str) -> str:
        """Return a line with its styling."""
        return line

    def live(self, lines: Sequence[str]) -> None:
        """Replace the status lines."""


def is_lively(stream: TextIO | None, environment: Mapping[str, str]) -> bool:
    """Return whether a stream is a terminal that supports escape codes."""
    return stream is not None and stream.isatty() and environment.get("TERM", "dumb") not in ("", "dumb", "unknown")


def output_writer(*, quiet: bool) -> Writer:
    """Return the writer for this process's standard output and standard error."""
    if not is_lively(sys.stderr, os.environ):
        return Writer(sys.stdout, sys.stderr, quiet=quiet)
    # Imported here because a pipe does not need it.
    from bridle.surfaces.cli.screen import Screen

    return Screen(sys.stdout, sys.stderr, quiet=quiet)
