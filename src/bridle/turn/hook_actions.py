"""Effects of a turn with hooks around them: steps, compactions, pauses, limits and the end of a turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridle.core.action import CallModel, Compact, Finish
from bridle.core.events import PartPut
from bridle.core.hook import HookEvent
from bridle.core.ids import notice_id
from bridle.core.limits import LIMIT_OF_REASON
from bridle.core.parts import Notice
from bridle.core.turn import Turn
from bridle.turn.actions import TurnActions
from bridle.turn.compact import cause_of
from bridle.turn.hooks import compaction_instruction, each_hook


class HookedActions(TurnActions):
    """`Actions` that run hooks. Their output here is a notice for the reader; hooks around calls run with the calls."""

    _asked: tuple[str, ...] = ()

    async def turn(self) -> Turn:
        turn = await super().turn()
        asks = tuple(ask.id for ask in self._active.turn.asks)
        if asks and asks != self._asked:
            self._asked = asks
            await self._fire("pause", asks=[ask.text for ask in self._active.turn.asks])
        return turn

    async def call_model(self, action: CallModel) -> None:
        await self._fire("step_start", step=action.number)
        await super().call_model(action)
        await self._fire("step_end", step=action.number)

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
            await self._fire("limit", reason=action.reason)
        await self._fire("turn_end", reason=action.reason)
        return await super().finish(action)

    async def _fire(self, event: HookEvent, **more: Any) -> None:
        if not self._active.scope.aborted:
            outcomes = each_hook(self._active, event, "", more)
            await self._tell(event, [said.words async for said in outcomes if said.status != 0])

    async def _tell(self, event: HookEvent, told: Sequence[str]) -> None:
        active = self._active
        for number, words in enumerate(told):
            id = notice_id(active.turn.start.number, event, active.turn.steps, number)
            await active.record.append(PartPut(Notice(id, "hook", f"{event}: {words}")))
