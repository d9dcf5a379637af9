"""`WorkersEngine`: wakes sessions through a queue in PostgreSQL; in a `bridle worker` process it drives them too."""

from __future__ import annotations

import asyncio
import logging

from bridle.engine.drive import DriveSetup, drive
from bridle.errors import (
    BridleError,
    ConfigError,
    JournalError,
    JournalFailed,
    LeaseGivenUp,
    LeaseLost,
    NoSuchSession,
    TurnLeft,
)
from bridle.journal.journal import Wake
from bridle.journal.postgres import PostgresJournal
from bridle.seams import begin

LOG = logging.getLogger(__name__)
LOOK_SECONDS = 0.1
AGAIN_SECONDS = 1.0


class WorkersEngine:
    """See `Engine`. A process that only starts turns wakes them and waits; a worker also drives sessions."""

    def __init__(self, setup: DriveSetup, tool_places: asyncio.Semaphore | None = None) -> None:
        if not isinstance(setup.journal, PostgresJournal):
            raise ConfigError("workers.drive needs a journal on PostgreSQL: set journal.url")
        self.closing = False
        self._setup = setup
        setup.tool_places = tool_places
        self._journal = setup.journal
        self._drives: dict[str, asyncio.Task[None]] = {}

    async def wake(self, session: str, *, held_prompts: bool = False) -> None:
        await self._journal.wakes.wake([session], held_prompts=held_prompts)

    def enqueue(self, session: str) -> Wake:
        return self._journal.wakes.enqueue(session)

    async def report(self, parent: str) -> None:
        await self.wake(parent)

    def drives(self, session: str) -> bool:
        return session in self._drives

    @property
    def drive_count(self) -> int:
        """The number of sessions that are driven here."""
        return len(self._drives)

    async def parked(self, session: str) -> None:
        while self.drives(session) or await self._journal.wakes.pending(session):
            await asyncio.sleep(LOOK_SECONDS)
        if problem := await self._journal.wakes.problem(session):
            raise TurnLeft(problem)

    def begin_drive(self, session: str, *, held_prompts: bool = False) -> asyncio.Task[None]:
        """Begin to drive a session here, and return the task, which raises nothing."""
        task = begin(self._drive(session, held_prompts=held_prompts))
        # A second drive of a session ends at once: the first holds the lease.
        self._drives.setdefault(session, task)
        return task

    async def close(self, grace: float = 0.0) -> None:
        """Hand the turns that are driven here over to other workers, after at most `grace` seconds for their work."""
        self.closing = True
        await self._setup.leaving.leave(grace)
        while self._drives:
            await asyncio.wait(self._drives.values())

    async def _drive(self, session: str, *, held_prompts: bool) -> None:
        try:
            parked = await drive(session, self._setup, self, held_prompts=held_prompts)
            if parked == "elsewhere" and self._drives.get(session) is asyncio.current_task():
                # Its holder may only be renaming it, and then looks at no prompt.
                await self._journal.wakes.want(session)
        except NoSuchSession:
            # It was deleted.
            pass
        except (LeaseGivenUp, LeaseLost):
            # Another worker already has it or continues it; a superfluous wake does nothing.
            await self._give_back(session)
        except JournalFailed as error:
            LOG.warning("session %s is driven anew: %s", session, error)
            await asyncio.sleep(AGAIN_SECONDS)
            await self._give_back(session)
        except BridleError as error:
            LOG.warning("session %s is left as it is: %s", session, error)
            await self._tell_problem(session, str(error))
        except Exception as error:
            # Code of an app may be called, and a fault in one session must not end the worker's others.
            LOG.exception("session %s is left as it is", session)
            await self._tell_problem(session, f"{type(error).__name__}: {error}")
        finally:
            if self._drives.get(session) is asyncio.current_task():
                del self._drives[session]

    async def _give_back(self, session: str) -> None:
        """Wake a session for any worker; while the journal is away, until this process is told to stop."""
        while True:
            try:
                await self.wake(session)
                return
            except JournalError as error:
                LOG.warning("session %s cannot be given back yet: %s", session, error)
                if self.closing:
                    return
            await asyncio.sleep(AGAIN_SECONDS)

    async def _tell_problem(self, session: str, problem: str) -> None:
        """Tell the callers that wait for a session why no drive succeeds."""
        try:
            await self._journal.wakes.set_problem(session, problem)
        except JournalError as error:
            LOG.warning("why session %s is left as it is cannot be recorded: %s", session, error)
