"""Commands that go on in the background: they belong to their session, and end with the process that started them."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bridle.errors import ToolFailed
from bridle.process.owned import Owned

CHUNK = 65_536
MOST_KEPT = 200_000
MOST_RUNNING = 16


class Background:
    """One command: what it prints is kept, as far as nobody has read it and it is not too much."""

    def __init__(
        self,
        command: Sequence[str],
        shown: str,
        *,
        folder: Path,
        environment: Mapping[str, str] | None,
        bounds: Mapping[str, int],
    ) -> None:
        self.shown = shown
        self._unread = ""
        self._lost = 0
        self.status: int | None = None
        output, into = os.pipe()
        theirs, self._input = os.pipe()
        try:
            self._owned = Owned(
                command, folder=folder, output=into, given=theirs, environment=environment, bounds=bounds
            )
        except BaseException:
            os.close(output)
            os.close(self._input)
            raise
        finally:
            os.close(into)
            os.close(theirs)
        os.set_blocking(self._input, False)
        self._reading = asyncio.ensure_future(self._read(output))

    async def _read(self, output: int) -> None:
        reader = asyncio.StreamReader()
        pipe = os.fdopen(output, "rb", buffering=0)
        protocol = partial(asyncio.StreamReaderProtocol, reader)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(protocol, pipe)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        try:
            while chunk := await reader.read(CHUNK):
                self._unread += decoder.decode(chunk)
                beyond = len(self._unread) - MOST_KEPT
                if beyond > 0:
                    self._lost += beyond
                    self._unread = self._unread[beyond:]
        finally:
            transport.close()
        self.status = await self._owned.wait()

    def read(self) -> str:
        """What it has printed since the last time."""
        text, lost = self._unread, self._lost
        self._unread, self._lost = "", 0
        return f"[{lost} characters before this were not read in time]\n{text}" if lost else text

    def send(self, text: str) -> None:
        """Type something."""
        try:
            sent = os.write(self._input, text.encode())
        except (BrokenPipeError, BlockingIOError) as error:
            raise ToolFailed("it does not read its input") from error
        if sent < len(text.encode()):
            raise ToolFailed(f"it has read only {sent} bytes of its input so far")

    async def end(self) -> None:
        """End it, with everything that it started. May be called twice."""
        await self._owned.end()
        if self._input >= 0:
            os.close(self._input)
            self._input = -1
        await asyncio.wait([self._reading], timeout=1.0)
        self._reading.cancel()


@dataclass(slots=True)
class Backgrounds:
    """All background commands of one runtime."""

    _running: dict[str, dict[str, Background]] = field(default_factory=dict)
    _begun: int = 0

    def add(self, session: str, command: Background) -> str:
        """Keep a command; returns the id by which its session knows it."""
        self._begun += 1
        id = f"bg_{self._begun}"
        self._running.setdefault(session, {})[id] = command
        return id

    def room(self, session: str) -> bool:
        running = [command for command in self._running.get(session, {}).values() if command.status is None]
        return len(running) < MOST_RUNNING

    def of(self, session: str) -> Mapping[str, Background]:
        return self._running.get(session, {})

    def find(self, session: str, id: str) -> Background:
        found = self._running.get(session, {}).get(id)
        if found is None:
            known = ", ".join(self._running.get(session, {})) or "none"
            raise ToolFailed(
                f"There is no background command {id!r} (there are: {known}). "
                "Such commands end with the Bridle process that started them."
            )
        return found

    async def forget(self, session: str, id: str) -> None:
        await self.find(session, id).end()
        del self._running[session][id]

    async def close(self) -> None:
        """End all of them."""
        every = [command for commands in self._running.values() for command in commands.values()]
        self._running.clear()
        await asyncio.gather(*(command.end() for command in every))
