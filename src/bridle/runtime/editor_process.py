"""`EditorProcess`: the runtimes of `bridle acp`: one for each directory and set of MCP servers, on one journal."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bridle.config.load import load
from bridle.runtime.runtime import Runtime
from bridle.runtime.server_process import ServerTables
from bridle.seams import Seams


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenServer:
    """An MCP server that the editor brings: a command, which runs in the sandbox with network, or an address."""

    name: str
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    url: str = ""
    is_sse: bool = False
    headers: tuple[tuple[str, str], ...] = ()

    def settings(self) -> dict[str, object]:
        """Return it as a table of the settings."""
        if self.command:
            return {"command": list(self.command), "environment": dict(self.environment), "network": True}
        return {"url": self.url, "transport": "sse" if self.is_sse else "http", "headers": dict(self.headers)}


class EditorProcess:
    """Opens directories for an editor. Close it at the end; that aborts running turns."""

    def __init__(self, *, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._tables: ServerTables | None = None
        self._runtimes: dict[tuple[Path, tuple[GivenServer, ...]], Runtime] = {}

    async def open(self, directory: Path, servers: Sequence[GivenServer] = ()) -> Runtime:
        """Return the runtime of a directory with these servers beside the configured ones; raises `ConfigError`."""
        key = (directory.resolve(), tuple(servers))
        if key not in self._runtimes:
            if self._tables is None:
                self._tables = ServerTables(directory, self._environment, Seams())
            journal, flags = self._tables.journal, self._flags(directory, servers)
            self._runtimes[key] = Runtime.open(directory, environment=self._environment, flags=flags, journal=journal)
        return self._runtimes[key]

    def _flags(self, directory: Path, servers: Sequence[GivenServer]) -> dict[str, object]:
        """Return the servers as settings; a configured server wins over one of the same name."""
        if not servers:
            return {}
        known = load(directory, environment=self._environment).settings.mcp
        return {"mcp": {each.name: each.settings() for each in servers if each.name not in known}}

    async def close(self) -> None:
        """Close everything; running turns are aborted, and paused ones stay paused."""
        for runtime in self._runtimes.values():
            await runtime.close()
        if self._tables is not None:
            await self._tables.close()
