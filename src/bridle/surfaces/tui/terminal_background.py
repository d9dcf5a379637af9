"""Asks the terminal for its background, so that the theme `auto` fits it."""

from __future__ import annotations

import os
import re
import termios
import tty
from collections.abc import Mapping

QUERY = b"\x1b]11;?\x1b\\\x1b[c"
"""The background, and then the kind of terminal: every terminal answers that, so its answer ends the waiting."""
ANSWER = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
END = re.compile(rb"\x1b\[\?[0-9;]*c")
TENTHS = 2
"""Tenths of a second to wait for each part of the answer."""
MOST_READS = 16
LIGHT = 0.5
DARK_NUMBERS = ("0", "1", "2", "3", "4", "5", "6", "8")
"""Dark ones of the 16 colors, as COLORFGBG has them."""


def is_light_terminal(environment: Mapping[str, str], terminal: str = "/dev/tty") -> bool:
    """Return whether the terminal has a light background, as it says itself or in COLORFGBG. Unknown is dark."""
    try:
        told = _asked(terminal)
    except (OSError, termios.error):
        # There is no terminal, or one that cannot be set up for the answer.
        told = b""
    answer = ANSWER.search(told)
    if answer is not None:
        red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in answer.groups())
        brightness: float = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        return brightness > LIGHT
    number = environment.get("COLORFGBG", "").rpartition(";")[2]
    return number.isdecimal() and number not in DARK_NUMBERS


def _asked(terminal: str) -> bytes:
    """Return what the terminal answers within the time; it is set up as before afterwards."""
    handle = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    try:
        before = termios.tcgetattr(handle)
        try:
            tty.setraw(handle, termios.TCSANOW)
            timed = termios.tcgetattr(handle)
            timed[6][termios.VMIN], timed[6][termios.VTIME] = 0, TENTHS
            termios.tcsetattr(handle, termios.TCSANOW, timed)
            with os.fdopen(os.dup(handle), "wb", buffering=0) as stream:
                stream.write(QUERY)
            told = b""
            for _ in range(MOST_READS):
                piece = os.read(handle, 256)
                told += piece
                if not piece or END.search(told):
                    break
            return told
        finally:
            # A late answer is thrown away, as it would be taken for keys.
            termios.tcsetattr(handle, termios.TCSAFLUSH, before)
    finally:
        os.close(handle)
