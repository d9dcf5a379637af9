"""Words on their way into the journal while a reply streams."""

from __future__ import annotations

import asyncio

from bridle.errors import JournalError, JournalFull
from bridle.turn.processor import Processor
from bridle.turn.rig import Rig

GROWTH_SECONDS = 0.5


class Growth:
    """Records words half a second after they came, so that a crash loses at most a second of them."""

    def __init__(self, rig: Rig, processor: Processor) -> None:
        self._rig = rig
        self._processor = processor
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def due(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GROWTH_SECONDS, self._flush)

    def _flush(self) -> None:
        self._timer = None
        if self._task is not None and self._task.done() and self._task.exception() is not None:
            return
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write())
        else:
            self.due()

    async def _write(self) -> None:
        events = self._processor.growth()
        if not events:
            return
        try:
            await self._rig.record.append(*events, weight="words")
        except JournalError as error:
            self._processor.forget_growth(events)
            # The reserve of a full disk is not for words: they come with the record of the reply.
            if not isinstance(error, JournalFull):
                raise

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            # An append that is under way must end before the next one may begin; its failure is the turn's.
            await asyncio.wait([self._task])
            self._task.result()
