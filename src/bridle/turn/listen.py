"""`Listener`: tells a hook a turn's public events in order; the turn waits for it only at the end, for seconds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from bridle.core.events import Entry, Live, PartDelta, PartPut
from bridle.core.parts import TurnStart
from bridle.core.session import Session
from bridle.journal.journal import folded
from bridle.seams import begin
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.hook import Heard, Hook
from bridle.turn.hooks import answer_of, hooks_for
from bridle.turn.record import Record
from bridle.turn.scope import Aborted, Late, Scope
from bridle.wire.events import Event
from bridle.wire.projection import EventStream

LOG = logging.getLogger(__name__)
MOST_WAITING = 10_000
"""Deltas are dropped while a hook has this many events before it."""
PATIENCE_SECONDS = 5.0
"""Time for a hook to take the last events of a turn."""


class Listener:
    """Listens to the record of a turn, and tells a hook its public events."""

    def __init__(self, record: Record, hook: Hook, stream: EventStream) -> None:
        self._record = record
        self._hook = hook
        self._stream = stream
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._scope = Scope()
        self._told = record.publish
        record.publish = self._publish
        self._task = begin(self._tell())

    def _publish(self, session: str, event: Entry | Live) -> None:
        self._told(session, event)
        self.hear(event)

    def hear(self, event: Entry | Live) -> None:
        """Queue the public events of a recorded entry or a delta for the hook."""
        if self._task.done() or (isinstance(event, PartDelta) and self._events.qsize() > MOST_WAITING):
            return
        for public in self._stream.of_entry(event) if isinstance(event, Entry) else self._stream.of_delta(event):
            self._events.put_nowait(public)

    async def _tell(self) -> None:
        hook, epoch = self._hook, self._record.lease.epoch
        while (event := await self._events.get()) is not None:
            outcome = await self._scope.run(answer_of(hook, Heard(event), epoch), hook.seconds)
            if isinstance(outcome, Late):
                LOG.warning("the hook %s took longer than %g s: it gets no more events", hook.name, hook.seconds)
            if isinstance(outcome, (Late, Aborted)):
                return

    async def end(self) -> None:
        """Listen no more, and give the hook a few seconds for the events before it."""
        self._record.publish = self._told
        self._events.put_nowait(None)
        await asyncio.wait([self._task], timeout=PATIENCE_SECONDS)
        if not self._task.done():
            LOG.warning("the hook %s did not take the last events in time", self._hook.name)
            self._scope.abort()
            await asyncio.wait([self._task])


async def begin_listening(active: ActiveTurn) -> Sequence[Listener]:
    """Tell the hooks the events of the turn from now on, and from its first one if it has just begun."""
    hooks = hooks_for(active, Heard.event)
    if not hooks:
        return ()
    session, listeners = active.record.lease.session, []
    entries = await active.record.journal.load(session)
    begun = any(isinstance(event, PartPut) and isinstance(event.part, TurnStart) for event in entries[-1].events)
    for hook in hooks:
        # A state of its own: the stream folds what it is told.
        before = folded(session, entries[:-1] if begun else entries, Session())
        stream = EventStream(session, before) if begun else EventStream.resumed(session, before)
        listener = Listener(active.record, hook, stream)
        listeners.append(listener)
        if begun:
            listener.hear(entries[-1])
    return listeners
