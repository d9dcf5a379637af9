"""`TerminalClient`: OpenCode's terminal application in tmux, with keys from a program and its screen as text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.opencode_packages import QUIET, Packages

PATIENCE = 120.0
LOOK_SECONDS = 0.1
ESCAPES_SECONDS = 0.5


class TerminalClient:
    """One terminal; it is on a tmux server of its own."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def tmux(self, *words: str) -> str:
        """Run tmux and return what it prints."""
        made = await asyncio.create_subprocess_exec("tmux", "-S", str(self._socket), *words, stdout=-1, stderr=-1)
        output, errors = await made.communicate()
        assert made.returncode == 0, (words, errors.decode())
        return output.decode()

    async def screen(self) -> str:
        """Return what is shown."""
        return await self.tmux("capture-pane", "-p", "-t", "tui")

    async def until(self, *words: str, gone: str = "") -> str:
        """Wait until all of these words are shown, and others are not; return the screen."""
        shown = ""
        for _ in range(int(PATIENCE / LOOK_SECONDS)):
            shown = await self.screen()
            if all(word in shown for word in words) and (not gone or gone not in shown):
                return shown
            await asyncio.sleep(LOOK_SECONDS)
        raise AssertionError(f"{words!r} without {gone!r} is not shown:\n{shown}")

    async def keys(self, *keys: str) -> None:
        """Press keys, by their names."""
        for key in keys:
            await self.tmux("send-keys", "-t", "tui", key)

    async def type(self, text: str) -> None:
        """Type a text, and wait until it is shown."""
        await self.tmux("send-keys", "-t", "tui", "-l", text)
        await self.until(text)

    async def say(self, text: str) -> None:
        """Type a prompt and send it."""
        await self.type(text)
        await self.keys("Enter")

    async def interrupt(self) -> None:
        """Stop the turn: twice escape, which at once would be one key with Alt."""
        await self.keys("Escape")
        await asyncio.sleep(ESCAPES_SECONDS)
        await self.keys("Escape")


@asynccontextmanager
async def terminal(packages: Packages, home: Path, *words: str) -> AsyncIterator[TerminalClient]:
    """Run `opencode attach` with these words in a terminal of its own."""
    home.mkdir(parents=True, exist_ok=True)
    one = TerminalClient(home / "tmux")
    variables = {"HOME": str(home), "TERM": "xterm-256color", **QUIET}
    given = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
    size = ("-x", "150", "-y", "50")
    await one.tmux("new-session", "-d", "-s", "tui", *size, *given, str(packages.binary), "attach", *words)
    try:
        yield one
    finally:
        await one.tmux("kill-server")
