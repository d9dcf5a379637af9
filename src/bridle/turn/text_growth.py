"""`Growth`: records streaming text twice a second, so that a crash loses at most a second of it."""

from __future__ import annotations

import asyncio

from bridle.errors import JournalError, JournalFull
from bridle.seams import begin
from bridle.turn.processor import Processor
from bridle.turn.record import Record

GROWTH_SECONDS = 0.5


class Growth:
    """Records text half a second after it came, so that a crash loses at most a second of it."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._processor: Processor | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def due(self, processor: Processor) -> None:
        """Schedule the recording of a reply's new text. Replies in quick succession share a timer, which saves cost."""
        self._processor = processor
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GROWTH_SECONDS, self._flush)

    def _flush(self) -> None:
        self._timer = None
        if self._processor is None:
            return
        if self._task is not None and self._task.done() and self._task.exception() is not None:
            return
        if self._task is None or self._task.done():
            self._task = begin(self._write(self._processor))
        else:
            self.due(self._processor)

    async def _write(self, processor: Processor) -> None:
        events = processor.growth()
        if not events:
            return
        try:
            await self._record.append(*events, weight="words")
        except JournalError as error:
            processor.forget_growth(events)
            # The reserve of a full disk is not for partial text: it comes with the record of the reply.
            if not isinstance(error, JournalFull):
                raise

    async def leave(self, processor: Processor) -> None:
        """Stop recording this reply, even if it continues."""
        if self._processor is processor:
            await self.stop()

    async def stop(self) -> None:
        """Stop recording; a write in progress is complete when this returns."""
        self._processor = None
        task, self._task = self._task, None
        if task is not None:
            # An append in progress must end before the next one may begin; its failure is the turn's.
            await asyncio.wait([task])
            task.result()
