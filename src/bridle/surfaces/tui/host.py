"""`TerminalHost`: what the terminal application needs from the person's machine; the command line implements it.

The sessions may be on another machine, a server.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from bridle.errors import ConfigError
from bridle.runtime.project import Backend
from bridle.runtime.sessions import Sessions
from bridle.values.keys import KeySettings


class StartChoices(NamedTuple):
    """What a person chose for a session before it was opened; None leaves it as it is."""

    agent: str | None = None
    model: str | None = None
    prompt: str = ""
    """A prompt to send at the start."""


NOTHING_CHOSEN = StartChoices()


class TerminalHost(Protocol):
    """The machine of the person: keys, kept choices, files for them, and commands of Bridle."""

    keys: KeySettings
    folder: Path | None
    """Where history and favorites are kept; None keeps them until the end of the application."""

    async def backend(self, directory: str) -> Backend:
        """Return the sessions with another project directory; raises `ConfigError` if it cannot be opened."""

    async def report(self, sessions: Sessions, session: str) -> str:
        """Return the HTML page of a session."""

    def write(self, path: Path, content: bytes) -> None:
        """Write a file for the person alone, in place of one that exists; raises `ConfigError`."""

    def command(self, words: Sequence[str]) -> list[str]:
        """Return a command of Bridle to run in the terminal; raises `ConfigError` where it has to run elsewhere."""


class PlainHost:
    """A host that keeps nothing and opens nothing, for programs that show one session."""

    def __init__(self, keys: KeySettings | None = None, folder: Path | None = None) -> None:
        self.keys = keys or KeySettings()
        self.folder = folder

    async def backend(self, directory: str) -> Backend:
        raise ConfigError(f"this session belongs to {directory}: start bridle there")

    async def report(self, sessions: Sessions, session: str) -> str:
        raise ConfigError(f"run this in a terminal: bridle report {session}")

    def write(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)

    def command(self, words: Sequence[str]) -> list[str]:
        raise ConfigError(f"run this in a terminal: bridle {' '.join(words)}")
