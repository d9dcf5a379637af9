"""What the text of a run is written on: the answer on standard output, everything about it beside."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from bridle.surfaces.shared.safe_text import plain


class Writer:
    """Streams that anything may read: a pipe, a file, a terminal that can do nothing else."""

    lively = False
    """Whether what is under way can be shown and taken back."""

    def __init__(self, out: TextIO, beside: TextIO, *, quiet: bool) -> None:
        self._out = out
        self._beside = beside
        self.quiet = quiet
        self._open_line = False
        self.early = out.isatty()
        """Only a person sees words before they are recorded: a program shall not read those of a try that failed."""

    def words(self, text: str) -> None:
        """More of the answer."""
        self._out.write(plain(text))
        self._out.flush()
        self._open_line = not text.endswith("\n")

    def end_words(self) -> None:
        """What comes next does not belong to the words before."""
        if self._open_line:
            self._out.write("\n")
            self._out.flush()
            self._open_line = False

    def say(self, line: str, *, always: bool = False) -> None:
        """A line about the run; `always` also when only the answer is wanted."""
        if always or not self.quiet:
            self._beside.write(f"{self._set(plain(line))}\n")
            self._beside.flush()

    def _set(self, line: str) -> str:
        """A line as it is written."""
        return line

    def live(self, lines: Sequence[str]) -> None:
        """What is under way now, in place of what was said of it before."""


def is_lively(stream: TextIO | None, environment: Mapping[str, str]) -> bool:
    """Whether a stream is a terminal that can do more than print."""
    return stream is not None and stream.isatty() and environment.get("TERM", "dumb") not in ("", "dumb", "unknown")


def paper(*, quiet: bool) -> Writer:
    """What the text of a run is written on here."""
    if not is_lively(sys.stderr, os.environ):
        return Writer(sys.stdout, sys.stderr, quiet=quiet)
    # Loaded only here: a pipe needs none of it.
    from bridle.surfaces.cli.screen import Screen

    return Screen(sys.stdout, sys.stderr, quiet=quiet)
