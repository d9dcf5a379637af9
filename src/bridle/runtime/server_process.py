"""`ServerProcess`: what `bridle serve` runs: a runtime for each served directory, on one journal, and its tokens."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bridle.config.load import data_home, journal_place, load, state_home
from bridle.config.settings import ServerSettings
from bridle.core.session import Session
from bridle.errors import ConfigError, JournalError, JournalRefused, NoSuchSession
from bridle.journal.journal import folded
from bridle.journal.open import open_journal
from bridle.journal.server_records import ServedTurn, server_records
from bridle.process.port_owner import port_owner as port_owner
from bridle.runtime.counts import Counts
from bridle.runtime.inside_call import inside_call
from bridle.runtime.runtime import Runtime
from bridle.runtime.served_turns import ServedTurns, ServingEngine
from bridle.runtime.server_logins import ServerLogins
from bridle.runtime.sessions import MOST_LOOKED_AT
from bridle.seams import Seams, begin

LOG = logging.getLogger(__name__)
RESUMED_SECONDS = 24 * 3600.0
MOST_RUNTIMES = 100
TAKE_OVER_LOOKS = 60
LOOK_SECONDS = 0.5


class InterruptedTurns(NamedTuple):
    """The interrupted turns that a server found at its start: those that it continues, and the others."""

    resumed: tuple[str, ...]
    others: tuple[str, ...]


class ServerProcess:
    """The runtimes of a server; raises `ConfigError` for invalid settings."""

    def __init__(self, directories: Sequence[Path], *, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._seams = Seams()
        self.served = tuple(dict.fromkeys(path.resolve() for path in directories))
        tables = ServerTables(self.served[0], self._environment, self._seams)
        self._tables = tables
        self.logins = tables.logins
        self._turns = ServedTurns(tables.records, tables.place, self._seams.clock)
        self.counts = Counts()
        self._runtimes: dict[Path, Runtime] = {}
        self._opening = asyncio.Lock()
        self._tending: set[asyncio.Task[None]] = set()
        self.first = self._opened(self.served[0])

    def _opened(self, path: Path) -> Runtime:
        # Workers drive the turns if the settings say so.
        makes = None if self._tables.settings.workers.drive else partial(ServingEngine, turns=self._turns)
        runtime = Runtime.open(path, environment=self._environment, journal=self._tables.journal, engine=makes)
        runtime.bus.listen(self._turns)
        runtime.bus.listen(self.counts)
        self._runtimes[path] = runtime
        return runtime

    async def open(self, path: Path) -> Runtime:
        """Return the runtime of a directory; raises `ConfigError`. Its settings are read when it is first used."""
        async with self._opening:
            if path not in self._runtimes:
                if len(self._runtimes) >= MOST_RUNTIMES:
                    raise ConfigError(f"this server has {MOST_RUNTIMES} directories in use: serve fewer, or restart it")
                self._opened(path)
            return self._runtimes[path]

    @property
    def settings(self) -> ServerSettings:
        """What the clients may use."""
        return self._tables.settings.server

    @property
    def place(self) -> str:
        """The machine whose sessions are driven here; empty if workers drive them, wherever they are."""
        return "" if self._tables.settings.workers.drive else self._tables.place

    @property
    def sandbox_warning(self) -> str:
        """Why commands run without a sandbox; empty if they run in one, or if the settings turn it off."""
        return self.first.commands.warning()

    async def is_sandboxed(self, directory: Path) -> bool:
        """Return whether commands of a directory certainly run in a sandbox: a worker's machine may have none."""
        return not self._tables.settings.workers.drive and (await self.open(directory)).commands.sandboxed

    def check(self) -> None:
        """Raise `ConfigError` if the settings of a served directory cannot be read as they are now."""
        for path in self.served:
            load(path, environment=self._environment)

    @property
    def log(self) -> Path:
        """The file for the server's log."""
        return state_home(self._environment) / "server.log"

    def refuses_peer(self, process: int) -> bool:
        """Return whether a client on the local socket runs inside a tool call, or cannot be seen."""
        return process <= 0 or inside_call(self._environment, process)

    @property
    def _engines(self) -> list[ServingEngine]:
        engines = (runtime.engine for runtime in self._runtimes.values())
        return [engine for engine in engines if isinstance(engine, ServingEngine)]

    @property
    def driven(self) -> int:
        """The number of sessions that are driven here."""
        return sum(engine.drive_count for engine in self._engines)

    def measured(self) -> dict[str, float]:
        """Return the counters and gauges of this process, by the names that Prometheus shows."""
        return {"bridle_server_sessions": float(self.driven), **self.counts.measured()}

    async def resume(self) -> InterruptedTurns:
        """Continue the turns that a server drove here within the last day; return them and the others."""
        resumed: list[str] = []
        for turn in await self._tables.records.served(self._tables.place):
            # A damaged session keeps no server from starting; opening it reports the damage.
            with suppress(JournalRefused):
                state, root = await self._left(turn)
                if state == "interrupted":
                    resumed.append(root)
                elif state == "busy":
                    # On PostgreSQL the lease of a killed server lasts a while longer.
                    self._begin(self._take_over(turn))
        for session in dict.fromkeys(resumed):
            await self._continue(session)
        others: list[str] = []
        for path in self.served:
            others += await (await self.open(path)).interrupted(most=MOST_LOOKED_AT)
        return InterruptedTurns(tuple(dict.fromkeys(resumed)), tuple(id for id in others if id not in resumed))

    async def _left(self, turn: ServedTurn) -> tuple[str, str]:
        """Return whether a turn is to be continued (`interrupted`), or held (`busy`), and its root session.

        What was ended elsewhere is forgotten.
        """
        try:
            entries = await self._tables.journal.load(turn.session)
        except NoSuchSession:
            await self._tables.records.end_served(turn.session)
            return "", ""
        runtime = await self._runtime_of(turn.session)
        if runtime is None:
            return "", ""
        running = folded(turn.session, entries, Session()).running
        waits = bool(await runtime.waiting_prompts(turn.session))
        is_same = running is not None and turn.turn in (0, running.start.number)
        if not is_same and not waits:
            await self._tables.records.end_served(turn.session)
            return "", ""
        if max(entries[-1].at, turn.at) < self._seams.clock.wall() - RESUMED_SECONDS:
            return "", ""
        status = (await runtime.status(turn.session)).state
        if running is None and waits:
            status = "busy" if await runtime.is_driven(turn.session) else "interrupted"
        return ("busy" if status == "retry" else status), await runtime.root(turn.session)

    async def _take_over(self, turn: ServedTurn) -> None:
        """Continue a turn once its lease has ended, unless another server goes on with it."""
        for _ in range(TAKE_OVER_LOOKS):
            await self._seams.sleep(LOOK_SECONDS)
            state, root = await self._left(turn)
            if state == "interrupted":
                await self._continue(root)
            if state != "busy":
                return

    async def _continue(self, session: str) -> None:
        runtime = await self._runtime_of(session)
        if runtime is not None:
            # Prompts that wait for the person go on waiting.
            await runtime.engine.wake(session)
            self._begin(self._tend(runtime, session))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = begin(work)
        self._tending.add(task)
        task.add_done_callback(self._tending.discard)

    async def _runtime_of(self, session: str) -> Runtime | None:
        """Return the runtime for a session of a served directory; None for another one."""
        info = (await self.first.load(session)).info
        path = Path(info.directory).resolve() if info is not None else Path("/")
        if not path.is_dir() or not any(path.is_relative_to(root) for root in self.served):
            return None
        return await self.open(path)

    async def _tend(self, runtime: Runtime, session: str) -> None:
        """See to it that subagents whose process has died are driven too."""
        try:
            await runtime.parked(session)
        except JournalError as error:
            LOG.warning("session %s is left as it is: %s", session, error)

    async def leave(self, grace: float) -> None:
        """Leave the driven turns interrupted, after at most `grace` seconds for their work. May be called twice."""
        for task in self._tending:
            task.cancel()
        await asyncio.gather(*(engine.leave(grace) for engine in self._engines))

    async def close(self) -> None:
        """Close everything. Turns that `leave` has not left are aborted."""
        for runtime in self._runtimes.values():
            await runtime.close()
        await self._turns.close()
        await self._tables.close()


class ServerTables:
    """The journal of a user with the tables of servers, opened without a runtime; raises `ConfigError`."""

    def __init__(self, directory: Path, environment: Mapping[str, str], seams: Seams) -> None:
        self.settings = load(directory, environment=environment).settings
        given = self.settings.journal
        where = journal_place(self.settings, environment)
        self.journal = open_journal(where, given.durability, seams, listen_url=given.listen_url, schema=given.schema)
        self.place = self.settings.workers.place or os.uname().nodename
        self.records = server_records(self.journal)
        self.logins = ServerLogins(self.records, self.place, seams.clock)

    async def close(self) -> None:
        """Close the journal."""
        await self.journal.close()


@asynccontextmanager
async def open_logins(directory: Path) -> AsyncIterator[ServerLogins]:
    """Open the tokens of the server at this place."""
    tables = ServerTables(directory, os.environ, Seams())
    try:
        yield tables.logins
    finally:
        await tables.close()


def socket_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the local sockets, which no sandbox opens; it is made for this user alone."""
    folder = data_home(os.environ if environment is None else environment) / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
