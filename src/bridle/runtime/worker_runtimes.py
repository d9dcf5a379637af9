"""`WorkerRuntimes`: opens the runtimes of a worker: one for each app, and one for each project directory in use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bridle.config.settings import WorkerSettings
from bridle.core.events import SessionInfo
from bridle.engine.drive import DriveSetup
from bridle.engine.workers import WorkersEngine
from bridle.errors import ConfigError
from bridle.journal.postgres import PostgresJournal
from bridle.runtime.config import RuntimeConfig
from bridle.runtime.runtime import Runtime
from bridle.seams import Seams

KEPT_SECONDS = 10.0
"""Time for which the runtime of a project without drives is used again; then its files are read anew."""


@dataclass(slots=True)
class _Open:
    runtime: Runtime
    engine: WorkersEngine
    used: float


class WorkerRuntimes:
    """Has sessions driven by a runtime of their app, or of their project; see `Drivers`."""

    def __init__(
        self, journal: PostgresJournal, apps: Mapping[str, RuntimeConfig], settings: WorkerSettings, seams: Seams
    ) -> None:
        self._journal = journal
        self._settings = settings
        self._seams = seams
        self._engine = partial(_engine, places=asyncio.Semaphore(settings.tools) if settings.tools else None)
        self._configured = apps
        self._apps: dict[str, _Open] = {}
        self._projects: dict[str, _Open] = {}
        self.on_open: Callable[[Runtime], None] = lambda runtime: None
        """Called with each runtime when it is opened."""
        self._opening = asyncio.Lock()

    def _opened(self, runtime: Runtime) -> _Open:
        assert isinstance(runtime.engine, WorkersEngine)
        self.on_open(runtime)
        return _Open(runtime, runtime.engine, self._seams.clock.monotonic())

    async def engine_for(self, info: SessionInfo) -> WorkersEngine:
        if info.app:
            if info.app not in self._configured:
                raise ConfigError(f"this worker does not offer the app {info.app!r}")
            if info.app not in self._apps:
                config = replace(self._configured[info.app], journal=self._journal)
                self._apps[info.app] = self._opened(Runtime(config, engine=self._engine))
            return self._apps[info.app].engine
        async with self._opening:
            await self._close_unused()
            found = self._projects.get(info.directory)
            if found is None:
                if not Path(info.directory).is_dir():
                    raise ConfigError(f"{info.directory}, the directory of session {info.id}, is not on this machine")
                runtime = Runtime.open(info.directory, journal=self._journal, engine=self._engine)
                found = self._projects[info.directory] = self._opened(runtime)
            found.used = self._seams.clock.monotonic()
            return found.engine

    async def _close_unused(self) -> None:
        """Close the runtimes of projects that were not used for a while: their files may have changed."""
        now = self._seams.clock.monotonic()
        for directory, found in tuple(self._projects.items()):
            if not found.engine.drive_count and now - found.used > KEPT_SECONDS:
                del self._projects[directory]
                await found.runtime.close()

    @property
    def drive_count(self) -> int:
        """The number of sessions that are driven in this process."""
        return sum(found.engine.drive_count for found in (*self._apps.values(), *self._projects.values()))

    async def close(self) -> None:
        everything = (*self._apps.values(), *self._projects.values())
        await asyncio.gather(*(found.engine.close(self._settings.grace_seconds) for found in everything))
        for found in everything:
            await found.runtime.close()


def _engine(setup: DriveSetup, places: asyncio.Semaphore | None) -> WorkersEngine:
    return WorkersEngine(setup, places)
