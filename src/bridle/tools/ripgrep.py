"""Starts ripgrep for `glob` and `grep` and streams its raw output; the two tools parse it and check permissions."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bridle.errors import ToolFailed
from bridle.process.output_stream import OutputStream
from bridle.process.program_lookup import own_program
from bridle.seams import begin

MOST_COMPLAINED = 2_000


def _program(project: Path) -> str:
    beside = Path(sys.executable).parent / "rg"
    if beside.is_file():
        return str(beside)
    found = own_program("rg", project)
    if found is None:
        raise ToolFailed("ripgrep (rg) was not found.")
    return found


@dataclass(slots=True)
class Search:
    """A running search: its output and its error messages."""

    reader: asyncio.StreamReader
    complaints: asyncio.Task[bytes]

    async def until(self, mark: bytes) -> bytes | None:
        """Return the output up to the next mark; None at the end."""
        try:
            return (await self.reader.readuntil(mark)).removesuffix(mark)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return None

    async def complained(self) -> str:
        return (await self.complaints).decode("utf-8", errors="replace").strip()


@asynccontextmanager
async def ripgrep(arguments: list[str], folder: Path, project: Path) -> AsyncIterator[Search]:
    """Start ripgrep in a folder; the process ends with the context. Programs of the project are not used.

    Raises `ToolFailed`.
    """
    if any("\0" in argument for argument in arguments):
        raise ToolFailed("A pattern cannot hold a zero byte.")
    piped = OutputStream([_program(project), "--no-config", *arguments], folder=folder, apart=True)
    complaints = begin(_complaints(piped.errors))
    try:
        yield Search(piped.output, complaints)
    finally:
        await piped.end()
        complaints.cancel()


async def _complaints(reader: asyncio.StreamReader) -> bytes:
    """Return the first error messages. Reads all of them, so that ripgrep never blocks on a full pipe."""
    kept = b""
    while block := await reader.read(MOST_COMPLAINED):
        kept = (kept + block)[:MOST_COMPLAINED]
    return kept
