"""Changes of files: computed first, shown as a diff to whoever is asked, then written, one call after the other."""

from __future__ import annotations

import asyncio
import codecs
import difflib
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from weakref import WeakValueDictionary

from bridle.errors import ToolFailed
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import Files, Place, digest

MAX_BYTES = 20_000_000
BINARY_LOOK = 8_192
DIFF_LINES = 2_000

_busy: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


@dataclass(frozen=True, slots=True)
class Change:
    """What a file held, and what it shall hold; None means that it is not there."""

    place: Place
    before: bytes | None
    after: bytes | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Before:
    """A file as it is, with the text that a model thinks in: no byte order mark, lines that end in one character."""

    content: bytes

    @property
    def mark(self) -> bytes:
        return codecs.BOM_UTF8 if self.content.startswith(codecs.BOM_UTF8) else b""

    @property
    def dos(self) -> bool:
        """Whether every line ends in two characters; a file that mixes its line ends keeps each as it is."""
        return b"\r\n" in self.content and self.content.count(b"\r\n") == self.content.count(b"\n")

    @property
    def text(self) -> str:
        return self.plain(self.content[len(self.mark) :].decode("utf-8", errors="surrogateescape"))

    def plain(self, text: str) -> str:
        text = text.removeprefix("\ufeff")
        return text.replace("\r\n", "\n") if self.dos else text

    def encoded(self, text: str) -> bytes:
        """The text as this file writes it: with its mark and its line ends."""
        content = _bytes(text)
        return self.mark + (content.replace(b"\n", b"\r\n") if self.dos else content)


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", errors="replace")


def settled(files: Files, place: Place, known: dict[str, str] | None) -> Before:
    """A file that the model has seen as it is now; raises `ToolFailed` for any other, and for what is no text."""
    content = files.read(place, MAX_BYTES)
    if known is not None:
        seen = known.get(str(place.path))
        if not seen:
            raise ToolFailed(f"{place.shown} exists and was not read in this session. Read it first.")
        if seen != digest(content):
            raise ToolFailed(f"{place.shown} has changed since it was last read. Read it again first.")
    if b"\0" in content[:BINARY_LOOK]:
        raise ToolFailed(f"{place.shown} is a binary file.")
    return Before(content)


@asynccontextmanager
async def editing(places: Iterable[Place]) -> AsyncIterator[None]:
    """Nobody else in this process changes these files meanwhile."""
    async with AsyncExitStack() as stack:
        for path in sorted({str(place.path) for place in places}):
            await stack.enter_async_context(_busy.setdefault(path, asyncio.Lock()))
        yield


async def applied(changes: Sequence[Change], invocation: Invocation, said: str) -> Output:
    """Write all changes, and tell what came of them."""
    for change in changes:
        path = str(change.place.path)
        if change.after is None:
            invocation.files.delete(change.place)
            invocation.sees(path, "")
        else:
            invocation.files.write(change.place, change.after)
            invocation.sees(path, digest(change.after))
    return Output(said, files=tuple(change.place.shown for change in changes))


def unified(changes: Sequence[Change]) -> str:
    """The changes as people read them."""
    return "\n".join(_diff(change) for change in changes)


def _diff(change: Change) -> str:
    name = change.place.shown
    old, new = (_shown_lines(content) for content in (change.before, change.after))
    before = f"a/{name}" if change.before is not None else "/dev/null"
    after = f"b/{name}" if change.after is not None else "/dev/null"
    if len(old) + len(new) > DIFF_LINES * 10:
        return f"--- {before}\n+++ {after}\n[too long to compare: {len(old)} lines before, {len(new)} after]"
    lines = list(difflib.unified_diff(old, new, before, after, lineterm=""))
    if len(lines) > DIFF_LINES:
        lines = [*lines[:DIFF_LINES], f"[{len(lines) - DIFF_LINES} more lines of this diff]"]
    return "\n".join(lines)


def _shown_lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", errors="replace").splitlines()
