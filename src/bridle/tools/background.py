"""Background commands of the sessions, with their input and output; `bash` starts them, `process` controls them.

Each belongs to one session and ends with the Bridle process that started it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from bridle.errors import ToolFailed
from bridle.process.containment import told
from bridle.seams import begin
from bridle.tools.prepared_command import PreparedCommand

LOG = logging.getLogger(__name__)
MOST_KEPT = 200_000
MOST_TAIL = 8_000
MOST_RUNNING = 16


class Background:
    """One running command. Its unread output is kept, up to `MOST_KEPT` characters; older output is dropped."""

    def __init__(self, command: PreparedCommand, shown: str) -> None:
        self.shown = shown
        self._folder = command.folder
        self._unread = ""
        self._lost = 0
        self.tail = ""
        """The last `MOST_TAIL` characters of output, read or unread."""
        self.status: int | None = None
        theirs, self._input = os.pipe()
        try:
            self._piped = command.start(given=theirs)
        except BaseException:
            os.close(self._input)
            raise
        finally:
            os.close(theirs)
        os.set_blocking(self._input, False)
        self._reading = begin(self._read())

    async def _read(self) -> None:
        status = await self._piped.run(self._keep)
        found = told(self._piped.differences(), self._folder)
        self._keep(found)
        for line in found.splitlines():
            # Logged for the user, because the model may never read this command's output again.
            if line:
                LOG.warning("a background command has ended: %s", line)
        self.status = status
        self._close_input()

    def _keep(self, text: str) -> None:
        self._unread += text
        self.tail = (self.tail + text)[-MOST_TAIL:]
        beyond = len(self._unread) - MOST_KEPT
        if beyond > 0:
            self._lost += beyond
            self._unread = self._unread[beyond:]

    def read(self) -> str:
        """Return the output since the last call of `read`."""
        text, lost = self._unread, self._lost
        self._unread, self._lost = "", 0
        return f"[{lost} characters before this were not read in time]\n{text}" if lost else text

    def send(self, text: str) -> None:
        """Write text to the command's standard input. Raises `ToolFailed` if the command does not read all of it."""
        try:
            raw = text.encode("utf-8", errors="replace")
            sent = os.write(self._input, raw)
        except (BrokenPipeError, BlockingIOError) as error:
            raise ToolFailed("it does not read its input") from error
        if sent < len(raw):
            raise ToolFailed(f"it has read only {sent} bytes of its input so far")

    def _close_input(self) -> None:
        if self._input >= 0:
            os.close(self._input)
            self._input = -1

    async def end(self) -> None:
        """End the command and every process it started. May be called twice."""
        await self._piped.end()
        self._close_input()
        await asyncio.wait([self._reading], timeout=1.0)
        self._reading.cancel()


@dataclass(slots=True)
class Backgrounds:
    """All background commands of one runtime."""

    _running: dict[str, dict[str, Background]] = field(default_factory=dict)
    _begun: int = 0

    def add(self, session: str, command: Background) -> str:
        """Register a command and return its id within the session. Of ended commands, `MOST_RUNNING` are kept."""
        self._begun += 1
        ended = [id for id, old in self.of(session).items() if old.status is not None]
        for id in ended[: max(0, len(ended) - MOST_RUNNING)]:
            del self._running[session][id]
        id = f"bg_{self._begun}"
        self._running.setdefault(session, {})[id] = command
        return id

    def room(self, session: str) -> bool:
        return sum(command.status is None for command in self.of(session).values()) < MOST_RUNNING

    def of(self, session: str) -> Mapping[str, Background]:
        return self._running.get(session, {})

    def find(self, session: str, id: str) -> Background:
        found = self.of(session).get(id)
        if found is None:
            known = ", ".join(self.of(session)) or "none"
            raise ToolFailed(
                f"There is no background command {id!r} (there are: {known}). "
                "Such commands end with the Bridle process that started them."
            )
        return found

    async def forget(self, session: str, id: str) -> None:
        await self.find(session, id).end()
        del self._running[session][id]

    async def close(self) -> None:
        """End all commands."""
        every = [command for commands in self._running.values() for command in commands.values()]
        self._running.clear()
        await asyncio.gather(*(command.end() for command in every))
