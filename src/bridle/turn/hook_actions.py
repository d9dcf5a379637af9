"""Effects of a turn with hooks around them: steps, compactions, pauses, limits and the end of a turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridle.core.action import CallModel, Compact, Finish, Synthesize
from bridle.core.events import PartPut
from bridle.core.hook import HookEvent
from bridle.core.ids import notice_id
from bridle.core.limits import LIMIT_OF_REASON
from bridle.core.parts import Notice
from bridle.core.states import Refusal
from bridle.core.turn import Turn
from bridle.turn.actions import Actions
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.compact import cause_of
from bridle.turn.hook_answers import compaction_instruction
from bridle.turn.hooks import fire


class HookedActions:
    """`Actions` that run hooks. Their output here is a notice for the reader; hooks around calls run with the calls."""

    def __init__(self, inner: Actions, active: ActiveTurn) -> None:
        self._inner = inner
        self._active = active
        self._asked: tuple[str, ...] = ()

    async def recover(self) -> None:
        await self._inner.recover()

    async def turn(self) -> Turn:
        turn = await self._inner.turn()
        asks = tuple(ask.id for ask in self._active.turn.asks)
        if asks and asks != self._asked:
            self._asked = asks
            await self._fire("pause", asks=[ask.text for ask in self._active.turn.asks])
        return turn

    async def call_model(self, action: CallModel) -> None:
        await self._fire("step_start", step=action.number)
        await self._inner.call_model(action)
        await self._fire("step_end", step=action.number)

    async def run(self, calls: tuple[str, ...]) -> None:
        await self._inner.run(calls)

    async def settle(self, calls: tuple[str, ...], refusal: Refusal) -> None:
        await self._inner.settle(calls, refusal)

    async def compact(self, action: Compact) -> None:
        active = self._active
        if action.by == "model" and not active.scope.aborted:
            active.instruction, told = await compaction_instruction(active, cause_of(active.turn))
            await self._tell("before_compaction", told)
        try:
            await self._inner.compact(action)
        finally:
            active.instruction = ""

    async def synthesize(self, action: Synthesize) -> None:
        await self._inner.synthesize(action)

    async def finish(self, action: Finish) -> Finish:
        # Before the end is recorded, because an ended turn takes no notices.
        if action.reason == "tree_budget" or action.reason in LIMIT_OF_REASON:
            await self._fire("limit", reason=action.reason)
        await self._fire("turn_end", reason=action.reason)
        return await self._inner.finish(action)

    async def _fire(self, event: HookEvent, **more: Any) -> None:
        active = self._active
        if active.scope.aborted:
            return
        await self._tell(event, [said.words for said in await fire(active, event, **more)])

    async def _tell(self, event: HookEvent, told: Sequence[str]) -> None:
        active = self._active
        for number, words in enumerate(told):
            id = notice_id(active.turn.start.number, event, active.turn.steps, number)
            await active.record.append(PartPut(Notice(id, "hook", f"{event}: {words}")))
