"""Handoff to another agent inside a turn: admits one per step, prepares it, and records it with its call's end."""

from __future__ import annotations

from msgspec.structs import replace

from bridle.core.events import PartPut, Recorded
from bridle.core.ids import notice_id, step_part_id
from bridle.core.ledger import AccountChange
from bridle.core.limits import ROWS, UNLIMITED
from bridle.core.parts import Handoff, Notice
from bridle.core.states import CallState, Done, Refusal, Refused, Running
from bridle.errors import ConfigError, ToolFailed
from bridle.tools.tool import Output, hands_to
from bridle.turn.active_turn import ActiveTurn


class HandedOver(Output, frozen=True, kw_only=True):
    """The result of a call that hands over, with the handoff that is recorded if the call ends well."""

    handoff: Handoff


def keep_first(active: ActiveTurn, verdicts: dict[str, CallState]) -> None:
    """Refuse every handoff of a step but the first, and any beside the answer of the turn."""
    tools, session = active.setup.toolset.tools, active.session
    handing = [
        id for id, state in verdicts.items() if isinstance(state, Running) and hands_to(tools[session.call(id).name])
    ]
    if not handing:
        return
    answered = any(isinstance(state, Done) and state.answers for state in active.turn.batch.values())
    taken = "given the answer" if answered else "handed over" if active.turn.handoff is not None else ""
    for id in handing:
        if taken:
            verdicts[id] = Refused(Refusal("superseded"), f"not executed: this step has already {taken}")
        taken = taken or "handed over"


async def prepare(active: ActiveTurn, agent: str) -> HandedOver:
    """Return the result of a call that hands over to an agent; raises `ToolFailed` if that agent cannot take over."""
    turn = active.turn
    assert turn.step is not None
    id = step_part_id(turn.start.number, turn.step.number, "handoff")
    try:
        handoff = await active.turns.hand_over(active.session, id, agent)
    except ConfigError as error:
        raise ToolFailed(f"{agent} cannot take over: {error}") from error
    limits = handoff.limits.counted_from(turn.spent(active.record.elapsed))
    text = f"From here on you are the agent {agent}, no longer {turn.start.agent}."
    return HandedOver(text, handoff=replace(handoff, limits=limits))


async def handed_over(active: ActiveTurn, output: Output) -> tuple[list[Recorded], AccountChange | None]:
    """Return the record of a call's handoff, and the change of the account if its limits become smaller."""
    if not isinstance(output, HandedOver) or output.failed:
        return [], None
    handoff, turn = output.handoff, active.turn
    assert turn.step is not None
    notice = notice_id(turn.start.number, "handoff", turn.step.number)
    told = Notice(notice, "handoff", f"handed over to {handoff.agent}")
    account = await active.record.journal.account(turn.start.account)
    assert account is not None
    shared = {row.name: handoff.limits.of(row.name) for row in ROWS if row.shared}
    limits = account.limits.at_most(replace(UNLIMITED, **shared))
    change = AccountChange(account.id, limits=limits) if limits != account.limits else None
    return [PartPut(handoff), PartPut(told)], change
