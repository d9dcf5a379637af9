"""`HookedActions`: asks hooks around steps, compactions, pauses and endings of a turn; `hooks` does so for calls."""

from __future__ import annotations

from collections.abc import Sequence

from bridle.core.action import CallModel, Compact, Finish
from bridle.core.events import PartPut
from bridle.core.ids import notice_id
from bridle.core.limits import LIMIT_OF_REASON
from bridle.core.parts import Notice
from bridle.core.turn import Turn
from bridle.turn.actions import TurnActions
from bridle.turn.compact import cause_of
from bridle.turn.hook import LimitReached, Moment, Pauses, StepBegins, StepEnds, TurnEnds
from bridle.turn.hooks import compaction_instruction, complaints
from bridle.turn.listen import Listener, begin_listening


class HookedActions(TurnActions):
    """`Actions` that run hooks. Their output here is a notice for the reader; hooks around calls run with the calls."""

    _asked: tuple[str, ...] = ()
    _listeners: Sequence[Listener] = ()

    async def recover(self) -> None:
        self._listeners = await begin_listening(self._active)
        await super().recover()

    async def turn(self) -> Turn:
        turn = await super().turn()
        asks = tuple(ask.id for ask in self._active.turn.asks)
        if asks and asks != self._asked:
            self._asked = asks
            await self._fire(Pauses([ask.text for ask in self._active.turn.asks]))
        return turn

    async def call_model(self, action: CallModel) -> None:
        await self._fire(StepBegins(action.number))
        await super().call_model(action)
        await self._fire(StepEnds(action.number))

    async def compact(self, action: Compact) -> None:
        active = self._active
        if action.by == "model" and not active.scope.aborted:
            active.instruction, told = await compaction_instruction(active, cause_of(active.turn))
            await self._tell("before_compaction", told)
        try:
            await super().compact(action)
        finally:
            active.instruction = ""

    async def finish(self, action: Finish) -> Finish:
        # Before the end is recorded, because an ended turn takes no notices.
        if action.reason == "tree_budget" or action.reason in LIMIT_OF_REASON:
            await self._fire(LimitReached(action.reason))
        await self._fire(TurnEnds(action.reason))
        return await super().finish(action)

    async def leave(self) -> None:
        # The last one has replaced the function to publish last.
        for listener in reversed(self._listeners):
            await listener.end()

    async def _fire(self, moment: Moment) -> None:
        if not self._active.scope.aborted:
            await self._tell(moment.event, [words async for words in complaints(self._active, moment)])

    async def _tell(self, event: str, told: Sequence[str]) -> None:
        active = self._active
        for number, words in enumerate(told):
            id = notice_id(active.turn.start.number, event, active.turn.used.steps, number)
            await active.record.append(PartPut(Notice(id, "hook", f"{event}: {words}")))
