"""`Actions`: interface of the agent loop's effects, and `TurnActions`, which runs them and ends a turn if one fails."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from bridle.core.action import CallModel, Compact, Finish, Synthesize
from bridle.core.events import PartPut
from bridle.core.ids import turn_part_id
from bridle.core.parts import Halt
from bridle.core.states import Refusal
from bridle.core.turn import Turn
from bridle.errors import ConfigError, JournalError, JournalFailed, JournalFull, error_text
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.call_model import call_model
from bridle.turn.children import report_asks
from bridle.turn.closing import finish
from bridle.turn.compact import compact
from bridle.turn.run_calls import run_calls
from bridle.turn.settle import recover, settle
from bridle.turn.synthesize import synthesize
from bridle.turn.take_inbox import take_inbox
from bridle.turn.title import begin_title, end_title

TITLE_PATIENCE_SECONDS = 2.0


class Actions(Protocol):
    """The effects of `run_turn`. Each returns when its outcome is recorded, and raises only `JournalError`.

    Telemetry, replay and fault injection wrap this; the loop knows none of them.
    """

    async def recover(self) -> None:
        """Settle the work that a dead process left. Does nothing the second time."""

    async def turn(self) -> Turn:
        """Take the inbox, then return the turn in its current state."""

    async def call_model(self, action: CallModel) -> None:
        """Send the request of a step."""

    async def run(self, calls: tuple[str, ...]) -> None:
        """Run these calls, refuse them, or ask a person."""

    async def settle(self, calls: tuple[str, ...], refusal: Refusal) -> None:
        """End these calls without running them."""

    async def compact(self, action: Compact) -> None:
        """Make the context smaller, or record that it cannot be."""

    async def synthesize(self, action: Synthesize) -> None:
        """Have the answer written from the last results, or record that it failed."""

    async def finish(self, action: Finish) -> Finish:
        """End the turn, exactly once."""

    async def leave(self) -> None:
        """End the work that only watches the turn. Called once the turn has parked or ended; records nothing."""


class TurnActions:
    """The effects of a turn in this process."""

    def __init__(self, active: ActiveTurn) -> None:
        self._active = active
        self._agent = active.turn.start.agent

    async def recover(self) -> None:
        await self._guarded(recover(self._active))

    async def turn(self) -> Turn:
        active = self._active
        if active.mail:
            await self._guarded(take_inbox(active))
        if active.turn.start.agent != self._agent:
            self._agent = active.turn.start.agent
            active.renew_setup()
        await report_asks(active)
        return active.session.view(active.record.elapsed)

    async def call_model(self, action: CallModel) -> None:
        await self._guarded(self._call_model(action))

    async def _call_model(self, action: CallModel) -> None:
        if action.closing is None or action.number == 1:
            begin_title(self._active)
        await call_model(self._active, action)

    async def run(self, calls: tuple[str, ...]) -> None:
        await self._guarded(run_calls(self._active, calls))

    async def settle(self, calls: tuple[str, ...], refusal: Refusal) -> None:
        await self._guarded(settle(self._active, calls, refusal))

    async def compact(self, action: Compact) -> None:
        await self._guarded(compact(self._active, action))

    async def synthesize(self, action: Synthesize) -> None:
        await self._guarded(synthesize(self._active, action))

    async def finish(self, action: Finish) -> Finish:
        await end_title(self._active, patience=0.0 if action.reason == "aborted" else TITLE_PATIENCE_SECONDS)
        return await finish(self._active, action)

    async def leave(self) -> None:
        pass

    async def _guarded(self, effect: Awaitable[None]) -> None:
        """End the turn with an error message if the effect fails; on a full disk, the reserve is used.

        Only a journal that cannot be written raises: then the turn has not ended.
        """
        try:
            await effect
        except JournalFull as full:
            await self._halt(str(full))
        except JournalError:
            raise
        except Exception as error:
            # Models, tools and settings are foreign code; no exception of theirs may hang a turn.
            await self._halt(str(error) if isinstance(error, ConfigError) else error_text(error))

    async def _halt(self, detail: str) -> None:
        turn = self._active.turn
        if turn.halt is not None:
            # The turn is already ending and fails again: another halt would not help.
            raise JournalFailed(f"the turn cannot be ended: {detail}")
        halt = Halt(turn_part_id(turn.start.number, "halt"), "error", detail)
        await self._active.record.append(PartPut(halt), weight="ending")
        await recover(self._active)
