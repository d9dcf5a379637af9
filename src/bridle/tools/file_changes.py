"""Changes of files: computed first, shown as a diff to whoever is asked, then written, one call after the other."""

from __future__ import annotations

import asyncio
import codecs
import difflib
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from weakref import WeakValueDictionary

from bridle.core.context import sound
from bridle.errors import ToolFailed
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import Files, Place, digest

MAX_BYTES = 20_000_000
BINARY_LOOK = 8_192
DIFF_LINES = 1_000
DIFF_WIDTH = 500

_busy: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a file held, and what it shall hold; None means that it is not there."""

    place: Place
    before: bytes | None
    after: bytes | None
    note: str = ""
    mode: int | None = None
    """The mode of the file that this one comes from."""


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
        return self._plain(self.content[len(self.mark) :].decode("utf-8", errors="surrogateescape"))

    def given(self, text: str) -> str:
        """A model's text as it fits this one; half a character becomes a mark."""
        return self._plain(sound(text).removeprefix("\ufeff"))

    def _plain(self, text: str) -> str:
        return text.replace("\r\n", "\n") if self.dos else text

    def encoded(self, text: str) -> bytes:
        """The text as this file writes it: with its mark and its line ends."""
        content = text.encode("utf-8", errors="surrogateescape")
        return self.mark + (content.replace(b"\n", b"\r\n") if self.dos else content)


def settled(files: Files, place: Place, known: dict[str, str] | None) -> Before:
    """A file that the model has seen as it is now; raises `ToolFailed` for any other, and for what is no text."""
    content = files.read(place, MAX_BYTES)
    if known is not None:
        seen = known.get(str(place.path))
        if not seen:
            raise ToolFailed(f"{place.shown} exists and was not read in this session. Read it first.")
        if seen != digest(content):
            raise ToolFailed(f"{place.shown} has changed since it was last read. Read it again first.")
    files.mode(place)
    if b"\0" in content[:BINARY_LOOK]:
        raise ToolFailed(f"{place.shown} is a binary file.")
    return Before(content)


@asynccontextmanager
async def editing(places: Iterable[Place]) -> AsyncIterator[None]:
    """Nobody else in this process changes these files meanwhile."""
    async with AsyncExitStack() as stack:
        for path in sorted({str(place.path) for place in places}):
            key = (id(asyncio.get_running_loop()), path)
            await stack.enter_async_context(_busy.setdefault(key, asyncio.Lock()))
        yield


async def applied(changes: Sequence[FileChange], invocation: Invocation, said: str) -> Output:
    """Make all changes, or none, and tell what came of them."""
    done: list[FileChange] = []
    try:
        # Nothing is deleted before everything else is safe.
        for change in sorted(changes, key=lambda change: change.after is None):
            _make(invocation.files, change.place, change.after, change.mode)
            done.append(change)
    except ToolFailed:
        for change in reversed(done):
            _make(invocation.files, change.place, change.before, change.mode)
        raise
    for change in changes:
        invocation.sees(str(change.place.path), digest(change.after) if change.after is not None else "")
    names = tuple(change.place.shown for change in changes)
    settings = invocation.commands.settings
    if not settings.formatters and not settings.diagnostics:
        return Output(said, files=names)
    # Loaded where somebody wants it.
    from bridle.tools.format_and_lint import cared_for

    found = await cared_for([change.place for change in changes if change.after is not None], invocation)
    return Output(f"{said}\n\n{found}" if found else said, files=names)


def _make(files: Files, place: Place, content: bytes | None, mode: int | None) -> None:
    if content is None:
        files.delete(place)
    else:
        files.write(place, content, mode)


def unified(changes: Sequence[FileChange]) -> str:
    """The changes as people read them."""
    return "\n".join(_diff(change) for change in changes)


def _diff(change: FileChange) -> str:
    name = change.place.shown
    old, new = (_shown_lines(content) for content in (change.before, change.after))
    before = f"a/{name}" if change.before is not None else "/dev/null"
    after = f"b/{name}" if change.after is not None else "/dev/null"
    if len(old) + len(new) > DIFF_LINES * 10:
        return f"--- {before}\n+++ {after}\n[too long to compare: {len(old)} lines before, {len(new)} after]"
    lines = [line[:DIFF_WIDTH] for line in difflib.unified_diff(old, new, before, after, lineterm="")]
    if not lines and change.before != change.after:
        lines = [f"--- {before}", f"+++ {after}", "[only line ends or the mark at its beginning change]"]
    if len(lines) > DIFF_LINES:
        lines = [*lines[:DIFF_LINES], f"[{len(lines) - DIFF_LINES} more lines of this diff]"]
    return "\n".join(lines)


def _shown_lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", errors="replace").splitlines()
