"""The search program that glob and grep stand on: it proposes, and the file boundary has the last word."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bridle.errors import ToolFailed
from bridle.process.owned import Owned

MOST_COMPLAINED = 2_000
LONGEST = 1 << 20


def _program() -> str:
    beside = Path(sys.executable).parent / "rg"
    found = str(beside) if beside.is_file() else shutil.which("rg")
    if found is None:
        raise ToolFailed("ripgrep (rg) was not found.")
    return found


@dataclass(slots=True)
class Search:
    """A search under way: what it prints, and what it complains about."""

    reader: asyncio.StreamReader
    complaints: asyncio.StreamReader

    async def until(self, mark: bytes) -> bytes | None:
        """The next piece before a mark; None at the end."""
        try:
            return (await self.reader.readuntil(mark)).removesuffix(mark)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return None

    async def complained(self) -> str:
        return (await self.complaints.read(MOST_COMPLAINED)).decode("utf-8", errors="replace").strip()


@asynccontextmanager
async def ripgrep(arguments: list[str], folder: Path) -> AsyncIterator[Search]:
    """Search in a folder; whatever is left of it ends with the context."""
    if any("\0" in argument for argument in arguments):
        raise ToolFailed("A pattern cannot hold a zero byte.")
    output, into = os.pipe()
    errors, complained = os.pipe()
    try:
        owned = Owned([_program(), "--no-config", *arguments], folder=folder, output=into, errors=complained)
    except BaseException:
        os.close(output)
        os.close(errors)
        raise
    finally:
        os.close(into)
        os.close(complained)
    readers: list[asyncio.StreamReader] = []
    transports: list[asyncio.ReadTransport] = []
    loop = asyncio.get_running_loop()
    try:
        for handle in (output, errors):
            reader = asyncio.StreamReader(limit=LONGEST)
            pipe = os.fdopen(handle, "rb", buffering=0)
            transport, _ = await loop.connect_read_pipe(partial(asyncio.StreamReaderProtocol, reader), pipe)
            readers.append(reader)
            transports.append(transport)
        yield Search(*readers)
    finally:
        await owned.end()
        for transport in transports:
            transport.close()


def listed(lines: list[str], most: int) -> str:
    """The first lines of what was found, and how many are left out."""
    more = f"\n\n[{len(lines) - most} more]" if len(lines) > most else ""
    return "\n".join(lines[:most]) + more
