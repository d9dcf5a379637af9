"""Prints to standard output and error for all commands, through `plain`; asks for yes or no, and for secrets.

No other module writes to them, except `writer` and `screen`, which stream a running turn.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import typer

from bridle.surfaces.cli.writer import is_lively
from bridle.surfaces.shared.safe_text import line as one_line, plain, plain_json

COLORS = {"+": "32", "-": "31", "@": "36"}


def say(words: object = "", *, end: str = "\n") -> None:
    """Write to standard output."""
    _write(sys.stdout, f"{plain(str(words))}{end}")


def tell(words: object = "", *, end: str = "\n") -> None:
    """Write to standard error, which gets everything except a command's result."""
    _write(sys.stderr, f"{plain(str(words))}{end}")


def tell_notices(notices: Iterable[str]) -> None:
    """Write notices about the settings to standard error."""
    for notice in notices:
        tell(f"! {notice}")


def tell_at_last(words: str) -> None:
    """Write to standard error, ignoring failures."""
    with suppress(OSError, ValueError):
        tell(words)


def tell_logged() -> None:
    """Send log records without a handler to standard error through `tell`."""
    # Imported here because printing the version logs nothing.
    import logging

    class Door(logging.Handler):
        """A log handler that writes one line per warning."""

        def emit(self, record: logging.LogRecord) -> None:
            if record.name == "psycopg.pool":
                # It repeats every few seconds what the journal itself tells once.
                return
            tell_at_last(self.format(record) if record.exc_info else one_line(self.format(record)))

    logging.lastResort = Door(logging.WARNING)


def say_json(value: Any) -> None:
    """Write a value as one line of JSON."""
    # Imported here because most commands write no JSON.
    import msgspec

    _write(sys.stdout, f"{plain_json(msgspec.json.encode(value).decode())}\n")


def say_json_document(raw: bytes) -> None:
    """Write an encoded JSON document."""
    _write(sys.stdout, plain_json(raw.decode()))


def say_diff(words: str) -> None:
    """Write a diff to standard output, with colors if the terminal has them."""
    _write(sys.stdout, _diff(words, sys.stdout))


def tell_change(diff: str, margin: str) -> None:
    """Write a change that a person decides about to standard error, each line after a margin.

    On a capable terminal it looks as in the terminal application.
    """
    if is_lively(sys.stderr, os.environ):
        # Imported here because it takes longer than most commands, and a person reads it only now.
        from bridle.surfaces.cli.change import drawn

        lines = drawn(diff, sys.stderr, len(margin))
    else:
        lines = [plain(each) for each in diff.removesuffix("\n").split("\n")]
    _write(sys.stderr, "".join(f"{margin}{each}\n" for each in lines))


def confirmed(question: str) -> bool:
    """Ask the person at the terminal for yes or no."""
    return typer.confirm(plain(question), err=True)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how much of all is done, on a terminal; elsewhere it shows nothing."""
    if not is_lively(sys.stderr, os.environ):
        yield lambda done, total: None
        return
    # Imported here because a pipe does not need it.
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=sys.stderr, markup=False), transient=True) as shown:
        task = shown.add_task(title, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


def secret(question: str) -> str:
    """Ask the person at the terminal for a secret, which is not echoed."""
    return str(typer.prompt(plain(question), hide_input=True, err=True))


def mend_streams() -> None:
    """Replace closed streams by /dev/null, and characters that the terminal cannot encode by marks."""
    nowhere = Path(os.devnull)
    sys.stdout = sys.stdout or nowhere.open("w")
    sys.stderr = sys.stderr or nowhere.open("w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()


def _diff(words: str, stream: TextIO) -> str:
    text = plain(words)
    text += "" if not text or text.endswith("\n") else "\n"
    return _colored(text) if is_lively(stream, os.environ) and not os.environ.get("NO_COLOR") else text


def _colored(text: str) -> str:
    lines = []
    for line in text.split("\n"):
        color = "1" if line.startswith(("diff ", "+++", "---")) else COLORS.get(line[:1], "")
        lines.append(f"\x1b[{color}m{line}\x1b[0m" if color else line)
    return "\n".join(lines)
