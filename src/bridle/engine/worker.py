"""`Worker`: takes wakes from the queue with Procrastinate, drives their sessions, and takes over from dead workers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

import procrastinate
import psycopg
from procrastinate import PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager

from bridle.core.events import SessionInfo
from bridle.engine.workers import WorkersEngine
from bridle.errors import BridleError, ConfigError, JournalFailed, NoSuchSession
from bridle.journal.postgres import PostgresJournal
from bridle.seams import Seams, begin

LOG = logging.getLogger(__name__)
POLL_SECONDS = 1.0
SWEEP_SECONDS = (1.0, 2.0)
PATIENCE_SECONDS = 2.0
"""Time after which a session with an unread item in its inbox is woken again."""
AGAIN_SECONDS = 1.0
FINISH_TRIES = 5
MOST_CONNECTIONS = 3


class Drivers(Protocol):
    """The engines of one worker process."""

    async def engine_for(self, info: SessionInfo) -> WorkersEngine:
        """Return the engine that drives a session; raises `BridleError` if this process cannot drive it."""

    async def close(self) -> None:
        """Hand over everything that is driven here."""


class _Jobs(JobManager):
    """The jobs of this worker. One that cannot be ended is no failure of its drive: Procrastinate would only log it."""

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        for _ in range(FINISH_TRIES):
            try:
                return await super().finish_job(job, status, delete_job)
            except ConnectorException as error:
                if isinstance(error.__cause__, psycopg.errors.RaiseException):
                    # Another worker considered this one dead, and has deleted the job.
                    return None
                LOG.warning("a wake of %s cannot be ended yet: %s", job.queueing_lock, error.__cause__)
                await asyncio.sleep(AGAIN_SECONDS)
        # The job is cleared when the queue is connected anew.
        return None


class Worker:
    """One process that drives the sessions of some queues, until it is told to stop.

    `concurrency` is the number of sessions that it drives at once.
    """

    def __init__(
        self, journal: PostgresJournal, drivers: Drivers, queues: Sequence[str], seams: Seams, *, concurrency: int = 200
    ) -> None:
        self._journal = journal
        self._drivers = drivers
        self._queues = list(queues)
        self._seams = seams
        self._concurrency = concurrency
        self.taken_over = 0
        """Sessions that this worker's sweeps have woken."""
        self._stopping = asyncio.Event()
        self._app = procrastinate.App(
            connector=PsycopgConnector(
                conninfo=journal.server.direct,
                min_size=1,
                max_size=MOST_CONNECTIONS,
                kwargs={"options": f"-c search_path={journal.server.schema}_queue,pg_temp", "prepare_threshold": None},
            )
        )
        self._app.job_manager = _Jobs(self._app.connector)
        self._app.task(name="drive")(self._job)

    async def run(self) -> None:
        """Work until `stop`, and wait while the server is unreachable. Raises `BridleError` if it cannot be used."""
        await self._journal.serve(self._queues)
        if not self._journal.server.listens:
            raise ConfigError("journal.url leads through a pool of connections: workers also need journal.listen_url")
        sweeping = begin(self._sweep())
        try:
            while not self._stopping.is_set():
                try:
                    async with self._app.open_async():
                        await self._work()
                except (psycopg.Error, ConnectorException, OSError) as error:
                    LOG.warning("the queue cannot be read: %s", " ".join(str(error).split()))
                if not self._stopping.is_set():
                    await self._seams.sleep(AGAIN_SECONDS)
        finally:
            sweeping.cancel()
            await asyncio.wait([sweeping])
            await self._drivers.close()

    def stop(self) -> None:
        """Take no more wakes, and hand over what is driven here. May be called twice."""
        self._stopping.set()

    async def _work(self) -> None:
        """Act on wakes until the worker is stopped or the connection is lost."""
        working = begin(self._follow_wakes())
        stopping = begin(self._stopping.wait())
        await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working

    async def _follow_wakes(self) -> None:
        await self._app.run_worker_async(
            queues=self._queues,
            concurrency=self._concurrency,
            fetch_job_polling_interval=POLL_SECONDS,
            delete_jobs="always",
            install_signal_handlers=False,
            update_heartbeat_interval=self._journal.times.heartbeat_seconds,
            stalled_worker_timeout=self._journal.times.lease_seconds,
            # Jobs only watch the drives, which continue.
            shutdown_graceful_timeout=0.0,
        )

    async def _job(self, session: str, held: bool) -> None:
        """Drive a session until it parks, or until the queue must reconnect; the drive continues then."""
        info = await self._info(session)
        if info is None:
            return
        try:
            engine = await self._drivers.engine_for(info)
        except BridleError as error:
            await self._journal.wakes.set_problem(session, str(error))
            return
        # A job may be cancelled, a drive never.
        await asyncio.wait([engine.begin_drive(session, held_prompts=held)])

    async def _info(self, session: str) -> SessionInfo | None:
        """Return the facts about a session, None if it was deleted; while the journal is away, it is asked again."""
        while True:
            try:
                return await self._journal.info(session)
            except NoSuchSession:
                return None
            except JournalFailed as error:
                LOG.warning("session %s cannot be read yet: %s", session, error)
            await self._seams.sleep(AGAIN_SECONDS)

    async def _sweep(self) -> None:
        """Have the sessions of dead processes driven, and those whose wakes these had taken."""
        while True:
            await self._seams.sleep(self._seams.random.uniform(*SWEEP_SECONDS))
            try:
                await self._journal.serve(self._queues)
                self.taken_over += await self._journal.wakes.sweep(PATIENCE_SECONDS)
                await self._journal.wakes.clear()
            except BridleError as error:
                LOG.warning("the sweep is delayed: %s", error)
