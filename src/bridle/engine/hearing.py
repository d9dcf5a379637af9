"""`Hearing`: gives one listener every entry that this process records, in order, with a state for each session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from bridle.core.events import Entry
from bridle.engine.bus import Bus
from bridle.errors import JournalError
from bridle.journal.journal import Journal
from bridle.seams import begin

LOG = logging.getLogger(__name__)
MAX_STATES = 64

State = TypeVar("State")


class Hearing(Generic[State]):
    """One listener beside the turns, which never wait for it.

    `resume` returns the state of a session from its entries before the first one that is heard. `take` gets that entry
    and all later ones, each with the state. Both run in the event loop; their exceptions are logged.
    """

    def __init__(
        self,
        bus: Bus,
        journal: Journal,
        resume: Callable[[str, Sequence[Entry]], State],
        take: Callable[[State, Entry], None],
    ) -> None:
        self._bus = bus
        self._journal = journal
        self._resume = resume
        self._take = take
        self._states: dict[str, tuple[int, State]] = {}
        self._entries: asyncio.Queue[tuple[str, Entry] | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        bus.listen(self._hear)

    def _hear(self, session: str, entry: Entry) -> None:
        # A runtime may be made before its event loop runs.
        self._task = self._task or begin(self._tell())
        self._entries.put_nowait((session, entry))

    async def _tell(self) -> None:
        while (heard := await self._entries.get()) is not None:
            session, entry = heard
            try:
                self._take(await self._state(session, entry), entry)
            except JournalError as error:
                # The session was deleted or damaged meanwhile.
                LOG.warning("events of session %s are left out: %s", session, error)
            except Exception:
                # Foreign code may be called: it breaks no wait and no turn.
                LOG.exception("a listener failed")

    async def _state(self, session: str, entry: Entry) -> State:
        """Return the state of a session as it was before this entry."""
        sequence, state = self._states.pop(session, (-1, None))
        if state is None or sequence < entry.sequence - 1:
            before = await self._journal.load(session) if entry.sequence > 1 else []
            state = self._resume(session, [each for each in before if each.sequence < entry.sequence])
        self._states[session] = entry.sequence, state
        if len(self._states) > MAX_STATES:
            del self._states[next(iter(self._states))]
        return state

    async def end(self) -> None:
        """Stop after the entries that have already been recorded. May be called twice."""
        self._bus.leave(self._hear)
        if self._task is not None:
            self._entries.put_nowait(None)
            await self._task
