"""A terminal that keeps what it was sent, and the lines that a person then sees."""

import io
import re


class Tty(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def seen(sent: str) -> list[str]:
    """The lines that stand at the end, as a terminal understands what it was sent."""
    lines = [""]
    for piece in re.split(r"(\x1b\[[0-9;]*m|\r\x1b\[2K|\x1b\[1A\x1b\[2K|\n)", sent):
        if piece == "\n":
            lines.append("")
        elif piece == "\r\x1b[2K":
            lines[-1] = ""
        elif piece == "\x1b[1A\x1b[2K":
            lines.pop()
            lines[-1] = ""
        elif not piece.startswith("\x1b"):
            lines[-1] += piece
    return [line.rstrip() for line in lines]
