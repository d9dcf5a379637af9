"""Gives results to calls that will not run or whose outcome is unknown; recovers what a dead process left."""

from __future__ import annotations

from bridle.core.events import CallMoved, PartRemoved, Recorded, RequestMoved
from bridle.core.ids import read_reservation
from bridle.core.ledger import AccountChange
from bridle.core.limits import NOTHING, Spent
from bridle.core.states import Interrupted, Open, Refusal, Refused, Repeat, Running
from bridle.errors import ConfigError
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.children import recall, start_children
from bridle.turn.patch_files import finish_patch
from bridle.turn.run_agent import recall_nested

UNKNOWN = (
    "Its outcome is unknown: it may have happened, in whole or in part, or not at all. Look before you do it again."
)
UNKNOWN_OUTCOME = f"The process died while this call was running. {UNKNOWN}"
CUT_OUTCOME = f"The process was told to stop while this call was running, and ended it. {UNKNOWN}"

WORDS = {
    "aborted": "not executed: the turn was aborted",
    "superseded": "not executed: the turn ended before this call could run",
}


async def settle(active: ActiveTurn, calls: tuple[str, ...], refusal: Refusal) -> None:
    """End these calls without running them; their subagents are told to stop."""
    text = WORDS.get(refusal.name, f"not executed: {refusal.name}")
    children = active.turn.children
    moved, change = await recall(active, [id for id in calls if id in children])
    unknown = Refused(Refusal("unknown_outcome"), UNKNOWN_OUTCOME)
    for id in calls:
        if id not in children:
            # A call that a dead process had begun must not be reported as never run.
            again = isinstance(active.turn.batch[id], Repeat)
            moved.append(CallMoved(id, unknown if again else Refused(refusal, text)))
    await active.record.append(*moved, change=change)


async def recover(active: ActiveTurn) -> None:
    """Settle the work that a dead process left, and find its subagents again."""
    await settle_left(active)
    turn = active.turn
    if turn.patch is not None:
        await finish_patch(active)
    if turn.halt is None:
        await start_children(active)


async def settle_left(active: ActiveTurn, *, handed_over: bool = False) -> None:
    """Settle an interrupted request, calls with an unknown outcome, and open reservations. Resumes nothing.

    With `handed_over`, this process has ended them itself, and gives the turn to another one.
    """
    turn = active.session.running
    if turn is None:
        return
    events: list[Recorded] = []
    # Each try of a request has its own reservation; only the last one is open.
    settles = await left_over(active)
    worst = {read_reservation(id).request: amount for id, amount in settles}
    for request in (turn.request, turn.title):
        if request is not None and isinstance(request.state, Open):
            events += [PartRemoved(id) for id in turn.reply] if request is turn.request else []
            lost = worst.get(request.id, NOTHING)
            events.append(RequestMoved(request.id, Interrupted(lost.tokens, lost.cost, handed_over)))
    for id, state in turn.batch.items():
        if isinstance(state, Running):
            await recall_nested(active, id, state)
            again = _repeatable(active, active.session.call(id).name)
            unknown = Refused(Refusal("unknown_outcome"), CUT_OUTCOME if handed_over else UNKNOWN_OUTCOME)
            events.append(CallMoved(id, Repeat() if again else unknown))
    if events or settles:
        change = AccountChange(turn.start.account, settles=settles) if settles else None
        await active.record.append(*events, change=change)


def _repeatable(active: ActiveTurn, name: str) -> bool:
    try:
        tool = active.setup.toolset.tools.get(name)
    except ConfigError:
        # The setup of the turn no longer exists: no call is known to be safe.
        return False
    return tool is not None and tool.repeatable


async def left_over(active: ActiveTurn) -> tuple[tuple[str, Spent], ...]:
    """Return the reservations whose requests will never finish: they are settled at the worst case."""
    account = await active.record.journal.account(active.turn.start.account)
    return tuple(account.held.items()) if account is not None else ()
