"""`ServedTurns`: notes the open turns that a server drives, so that its next start continues them."""

from __future__ import annotations

import asyncio
import logging

from bridle.core.events import Entry, PartPut
from bridle.core.parts import TurnFinish, TurnStart
from bridle.engine.drive import DriveSetup
from bridle.engine.local import LocalEngine
from bridle.errors import JournalError
from bridle.journal.server_records import ServedTurn, ServerRecords
from bridle.seams import Clock, begin

LOG = logging.getLogger(__name__)
NOT_BEGUN = 0
"""The turn of a prompt that no turn has taken yet."""


class ServedTurns:
    """The sessions that this server drives: its engines report wakes, its bus the starts and ends of turns."""

    def __init__(self, records: ServerRecords, place: str, clock: Clock) -> None:
        self._records = records
        self._place = place
        self._clock = clock
        self._known: set[str] = set()
        self._changes: asyncio.Queue[tuple[str, int | None] | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def woken(self, session: str) -> None:
        """Note that a session is about to be driven here; durable on return."""
        if session not in self._known:
            self._known.add(session)
            await self._records.set_served(ServedTurn(session, NOT_BEGUN, self._place, self._clock.wall()))

    def __call__(self, session: str, entry: Entry) -> None:
        for event in entry.events:
            match event:
                case PartPut(part=TurnStart(number=number)):
                    self._put(session, number)
                case PartPut(part=TurnFinish()):
                    self._known.discard(session)
                    self._put(session, None)

    def _put(self, session: str, turn: int | None) -> None:
        self._task = self._task or begin(self._write())
        self._changes.put_nowait((session, turn))

    async def _write(self) -> None:
        while (change := await self._changes.get()) is not None:
            session, turn = change
            try:
                if turn is not None:
                    await self._records.set_served(ServedTurn(session, turn, self._place, self._clock.wall()))
                elif session not in self._known:
                    await self._records.end_served(session)
            except JournalError as error:
                # The turn goes on; a start after a crash lists it instead of continuing it.
                LOG.warning("the turn of session %s is not noted: %s", session, error)

    async def close(self) -> None:
        """Write what is left. May be called twice."""
        if self._task is not None:
            self._changes.put_nowait(None)
            await self._task
            self._task = None


class ServingEngine(LocalEngine):
    """A `LocalEngine` that notes each session before it drives it."""

    def __init__(self, setup: DriveSetup, turns: ServedTurns) -> None:
        super().__init__(setup)
        self._turns = turns

    async def wake(self, session: str, *, held_prompts: bool = False) -> None:
        await self._turns.woken(session)
        await super().wake(session, held_prompts=held_prompts)

    @property
    def drive_count(self) -> int:
        """The number of sessions that are driven here."""
        return len(self._drives)
