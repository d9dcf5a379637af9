"""Words of a model or a tool, in every place of a session from which they reach a terminal."""

import asyncio
import io
import re
from typing import Any
from unicodedata import category

import msgspec

from bridle.core.events import Entry, PartDelta, PartPut
from bridle.core.parts import Prompt
from bridle.core.result import Result
from bridle.core.session import Session
from bridle.core.states import Ask
from bridle.surfaces.cli.screen import Screen
from bridle.surfaces.cli.text import TextLines
from bridle.surfaces.cli.writer import Writer
from bridle.surfaces.shared.safe_text import HIDDEN, line, plain
from fuzz.recorded import HOSTILE, SESSION, recorded
from fuzz.target import Target

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u200b\u2028\u2029\ufeff]")
"""Controls but for the line end and the tab, what turns the direction of what follows, and what nobody sees."""
DRAWN = re.compile(r"\x1b\[[0-9;]*m|\r\x1b\[2K|\x1b\[1A\x1b\[2K")
"""What Bridle itself sends to a terminal: colours, and taking back what it has drawn."""


class Terminal(io.StringIO):
    """A terminal that keeps what was written to it."""

    def isatty(self) -> bool:
        return True


def spoken(value: Any, words: str) -> Any:
    """The same value with these words wherever the hostile ones stood."""
    if isinstance(value, str):
        return value.replace(HOSTILE, words)
    if isinstance(value, list):
        return [spoken(each, words) for each in value]
    if isinstance(value, dict):
        return {key: spoken(each, words) for key, each in value.items()}
    return value


BUILT = [msgspec.to_builtins(entries) for entries in recorded()]


def check(data: bytes) -> None:
    words = data.decode("utf-8", "replace")
    assert not UNSAFE.search(plain(words)) and plain(plain(words)) == plain(words)
    assert not re.search(r"[\n\t]", line(words)) and not UNSAFE.search(line(words))
    clean = words.replace("\r", "")
    hides = any(category(letter) in HIDDEN for letter in clean if letter not in "\n\t")
    assert len(plain(words)) == len(clean) if hides else plain(words) == clean, "words are lost"
    for number, built in enumerate(BUILT):
        entries = msgspec.convert(spoken(built, words), tuple[Entry, ...])
        asyncio.run(shown(entries, words, live=bool(number % 2)))


async def shown(entries: tuple[Entry, ...], words: str, *, live: bool) -> None:
    out, beside = Terminal() if live else io.StringIO(), Terminal()
    prompts = [
        event.part.id
        for entry in entries
        for event in entry.events
        if isinstance(event, PartPut) and isinstance(event.part, Prompt)
    ]
    writer = Screen(out, beside, quiet=False) if live else Writer(out, beside, quiet=False)
    lines = TextLines(writer)
    lines.session(SESSION)
    lines.begin(Session(), prompts[0])
    lines.notice(words)
    for entry in entries:
        lines.event(entry)
        lines.event(PartDelta("1.1.1.text", 0, words, "text"))
        lines.tick()
    ask = Ask("a", words, (), diff=words)
    lines.result(Result(SESSION, prompts[0], "paused", asks=(ask,)))
    lines.result(Result(SESSION, prompts[0], "answered", text=words))
    lines.error(words, "error")
    for written in (out.getvalue(), beside.getvalue()):
        found = UNSAFE.search(DRAWN.sub("", written) if live else written)
        assert found is None, f"{found[0]!r} reaches the terminal"


ESCAPES = (
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1bP1$r\x1b\\",
    "\x9b31m",
    "\x90",
    "\r",
    "\b",
    "\x7f",
    "\x0b",
    "\x0c",
    "\x00",
)
TURNS = ("\u202e", "\u202c", "\u2066", "\u2069", "\u200e", "\u200f", "\u061c", "\u200b", "\u2028", "\U000e0041")
TARGETS = (
    Target(
        "terminals",
        "Whatever is said, no control character but line ends and tabs and no change of direction reaches a terminal, "
        "and nothing else of it is lost.",
        check,
        (b"Hello\n\tworld", b"\x1b[31mred\x1b[0m\r\nnext", "a\u202eb\u2066c".encode(), b"", b"\n\n", b'{"a": 1}'),
        tuple(word.encode() for word in (*ESCAPES, *TURNS)),
        100,
    ),
)
