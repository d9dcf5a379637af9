"""The agent loop: ask `decide` for the next action, perform it, until the turn ends or waits. It owns no state."""

from __future__ import annotations

from bridle.core.action import CallModel, Compact, Finish, Pause, Run, Settle, Synthesize, Wait
from bridle.core.decide import decide
from bridle.turn.actions import Actions


async def run_turn(act: Actions) -> Finish | Pause | Wait:
    """Drive a turn to its end, or until it awaits a person or a subagent.

    The lease holder may call it at any moment; it continues from the record. It is never cancelled: an abort ends the
    current effect, and the record says so. Raises `JournalError` when the ending cannot be recorded; then the turn has
    not ended.
    """
    await act.recover()
    while True:
        match decide(await act.turn()):
            case CallModel() as call:
                await act.call_model(call)
            case Run(calls):
                await act.run(calls)
            case Settle(calls, refusal):
                await act.settle(calls, refusal)
            case Compact() as compaction:
                await act.compact(compaction)
            case Synthesize() as synthesis:
                await act.synthesize(synthesis)
            case Pause() | Wait() as parked:
                return parked
            case Finish() as finish:
                return await act.finish(finish)
