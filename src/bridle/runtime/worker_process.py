"""`WorkerProcess`: runs `engine.worker` for `bridle worker`: sets up its journal and agents, and counts its work."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import msgspec

from bridle.config.load import load
from bridle.config.settings import Settings
from bridle.engine.worker import Worker
from bridle.errors import ConfigError
from bridle.journal.open import open_journal
from bridle.journal.postgres import PostgresJournal
from bridle.journal.wakes import queue_named
from bridle.runtime.config import RuntimeConfig
from bridle.runtime.counts import Counts
from bridle.runtime.worker_runtimes import WorkerRuntimes
from bridle.seams import Seams


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """The arguments of `bridle worker`. What is None comes from the settings."""

    apps: Sequence[str] = ()
    """Agents or configurations, as MODULE:NAME. Without any, the worker drives sessions of projects."""
    place: str | None = None
    concurrency: int | None = None


class WorkerProcess:
    """A worker for this machine; raises `ConfigError` if it cannot begin."""

    def __init__(
        self,
        options: WorkerOptions,
        directory: Path,
        *,
        environment: Mapping[str, str] | None = None,
        seams: Seams | None = None,
    ) -> None:
        settings = load(directory, environment=environment).settings
        given = settings.workers
        place = options.place or given.place or os.uname().nodename
        settings = msgspec.structs.replace(
            settings,
            workers=msgspec.structs.replace(
                given, place=place, concurrency=options.concurrency or given.concurrency, drive=True
            ),
        )
        self._seams = seams or Seams()
        apps = dict(map(_app, options.apps))
        self.journal = _journal_of(settings, apps, self._seams)
        self.queues = tuple(queue_named(app, where) for app in (apps or ("",)) for where in ("", place))
        self.runtimes = WorkerRuntimes(self.journal, apps, settings.workers, self._seams)
        concurrency = settings.workers.concurrency
        self._worker = Worker(self.journal, self.runtimes, self.queues, self._seams, concurrency=concurrency)
        self.counts = Counts()
        self.runtimes.on_open = lambda runtime: runtime.bus.listen(self.counts)

    async def run(self) -> None:
        """Work until `stop`, and close everything."""
        try:
            await self._worker.run()
        finally:
            await self.journal.close()

    def stop(self) -> None:
        """Take no more wakes, and hand over what is driven here. May be called twice."""
        self._worker.stop()

    @property
    def is_healthy(self) -> bool:
        """Whether this process may hold leases now: its heartbeat reaches the server."""
        return self.journal.is_present

    def measured(self) -> dict[str, float]:
        """Return the counters and gauges of this process, by the names that Prometheus shows."""
        return {
            "bridle_worker_healthy": float(self.is_healthy),
            "bridle_worker_sessions": float(self.runtimes.drive_count),
            "bridle_worker_taken_over_total": float(self._worker.taken_over),
            **self.counts.measured(),
        }


def _app(address: str) -> tuple[str, RuntimeConfig]:
    """Return the name and the configuration of an agent, or of a configuration, that is named as MODULE:NAME."""
    module, colon, name = address.partition(":")
    if not colon or not module or not name:
        raise ConfigError(f"--app {address}: write it as MODULE:NAME, for example support.agents:support")
    try:
        found = getattr(_imported(module), name)
    except ImportError as error:
        raise ConfigError(f"--app {address}: the module cannot be imported ({error})") from error
    except AttributeError:
        raise ConfigError(f"--app {address}: the module {module} has no {name}") from None
    config = found if isinstance(found, RuntimeConfig) else getattr(found, "config", None)
    if not isinstance(config, RuntimeConfig):
        raise ConfigError(f"--app {address} is {type(found).__name__}: name an Agent or a RuntimeConfig")
    if not config.app:
        raise ConfigError(f"--app {address} has no name under which its sessions are recorded: Agent(…, app='NAME')")
    return config.app, config


def _imported(module: str) -> ModuleType:
    """Import a module from the working folder or elsewhere; raises `ImportError`."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return import_module(module)
    finally:
        # Last from now on: what the program imports later is found, and hides nothing that Bridle imports later.
        sys.path.remove(here)
        sys.path.append(here)


def _journal_of(settings: Settings, apps: Mapping[str, RuntimeConfig], seams: Seams) -> PostgresJournal:
    """Return the one journal of the apps, or that of the settings; raises `ConfigError` if it is not on PostgreSQL."""
    given = settings.journal
    found = {config.journal: name for name, config in apps.items() if isinstance(config.journal, str)}
    if len(found) > 1:
        raise ConfigError(f"the apps {' and '.join(found.values())} have different journals: run a worker for each")
    address = given.url or next(iter(found), "")
    if not str(address).startswith("postgres"):
        raise ConfigError("a worker needs a journal on PostgreSQL: set journal.url in your own configuration")
    journal = open_journal(str(address), given.durability, seams, listen_url=given.listen_url, schema=given.schema)
    assert isinstance(journal, PostgresJournal)
    return journal
