"""Applies the changes of editing tools: reads and locks files, shows a diff for approval, writes all or none."""

from __future__ import annotations

import asyncio
import codecs
import difflib
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from weakref import WeakValueDictionary

from bridle.core.context import sound
from bridle.core.limits import counted
from bridle.errors import ToolFailed
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import Files, Place, digest

MAX_BYTES = 20_000_000
BINARY_LOOK = 8_192
DIFF_LINES = 1_000
DIFF_WIDTH = 500
MOST_COMPARED_BYTES = 200_000
MOST_RECORDED = 20_000

_busy: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


@dataclass(frozen=True, slots=True)
class FileChange:
    """The content of a file before and after a change; None means that the file does not exist."""

    place: Place
    before: bytes | None
    after: bytes | None
    note: str = ""
    mode: int | None = None
    """File mode to keep when a file is moved."""


@dataclass(frozen=True, slots=True)
class Before:
    """The current content of a file, with its text as a model writes it: no byte order mark, `\\n` line ends."""

    content: bytes

    @property
    def mark(self) -> bytes:
        return codecs.BOM_UTF8 if self.content.startswith(codecs.BOM_UTF8) else b""

    @property
    def dos(self) -> bool:
        """Whether every line ends in CRLF; a file with mixed line ends keeps each as it is."""
        return b"\r\n" in self.content and self.content.count(b"\r\n") == self.content.count(b"\n")

    @property
    def text(self) -> str:
        return self._plain(self.content[len(self.mark) :].decode("utf-8", errors="surrogateescape"))

    def given(self, text: str) -> str:
        """Return a model's text normalized like this file's text, with lone surrogates replaced."""
        return self._plain(sound(text).removeprefix("\ufeff"))

    def _plain(self, text: str) -> str:
        return text.replace("\r\n", "\n") if self.dos else text

    def encoded(self, text: str) -> bytes:
        """Return the text as bytes with this file's byte order mark and line ends."""
        content = text.encode("utf-8", errors="surrogateescape")
        return self.mark + (content.replace(b"\n", b"\r\n") if self.dos else content)


def settled(files: Files, place: Place, known: dict[str, str] | None) -> Before:
    """Read a file that is to be changed.

    Raises `ToolFailed` if the model has not read it, if it has changed since then, or if it is binary.
    """
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
    """Lock files against changes by other tool calls in this process."""
    async with AsyncExitStack() as stack:
        for path in sorted({str(place.path) for place in places}):
            key = (id(asyncio.get_running_loop()), path)
            await stack.enter_async_context(_busy.setdefault(key, asyncio.Lock()))
        yield


async def applied(changes: Sequence[FileChange], invocation: Invocation, said: str) -> Output:
    """Write all changes or none, then run formatters and diagnostics. Raises `ToolFailed`."""
    done: list[FileChange] = []
    try:
        # Deletions come last, after everything else is written.
        for change in sorted(changes, key=lambda change: change.after is None):
            _make(invocation.files, change.place, change.after, change.mode)
            done.append(change)
    except ToolFailed:
        for change in reversed(done):
            _make(invocation.files, change.place, change.before, change.mode)
        raise
    for change in changes:
        invocation.sees(str(change.place.path), digest(change.after) if change.after is not None else "")
    names, diff = tuple(change.place.shown for change in changes), _recorded(changes)
    settings = invocation.commands.settings
    if not settings.formatters and not settings.diagnostics:
        return Output(said, files=names, diff=diff)
    # Imported only if formatters or diagnostics are configured.
    from bridle.tools.format_and_lint import cared_for

    found = await cared_for([change.place for change in changes if change.after is not None], invocation)
    return Output(f"{said}\n\n{found}" if found else said, files=names, diff=diff)


def _make(files: Files, place: Place, content: bytes | None, mode: int | None) -> None:
    if content is None:
        files.delete(place)
    else:
        files.write(place, content, mode)


def _recorded(changes: Sequence[FileChange]) -> str:
    """Return the diff that is recorded with a call; empty if it takes long to make or much room."""
    size = sum(len(change.before or b"") + len(change.after or b"") for change in changes)
    diff = unified(changes) if size <= MOST_COMPARED_BYTES else ""
    return diff if len(diff) <= MOST_RECORDED else ""


def unified(changes: Sequence[FileChange]) -> str:
    """Return the changes as a unified diff."""
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
        lines = [f"--- {before}", f"+++ {after}", "[only line ends or the byte order mark change]"]
    if len(lines) > DIFF_LINES:
        lines = [*lines[:DIFF_LINES], f"[{counted(len(lines) - DIFF_LINES, 'more line')} of this diff]"]
    return "\n".join(lines)


def _shown_lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", errors="replace").splitlines()
