"""Runs another agent of the program inside a tool call: in its own session, under the budget of the call's turn."""

from __future__ import annotations

from typing import Any

from bridle.core.events import CallMoved, SessionInfo
from bridle.core.ids import child_session_id, nested_run_id, recall_id
from bridle.core.inbox import AbortItem
from bridle.core.ledger import AccountChange, BudgetRefused
from bridle.core.states import Report, Running
from bridle.core.usage import joined_use
from bridle.errors import ConfigError, NoSuchSession, ToolFailed
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.caller import NestedAgent
from bridle.turn.children import delegation_for, keeping

PLACE_SECONDS = 0.1


async def run_agent(active: ActiveTurn, call: str, agent: NestedAgent, prompt: str, deps: Any) -> Any:
    """Run an agent in a session below a running call, and return its result. Raises `ToolFailed` without a place."""
    state = active.turn.batch[call]
    assert isinstance(state, Running) and active.session.info is not None
    if active.turn.depth >= active.setup.max_depth:
        raise ToolFailed(f"no agent may be run here: a tree may be {active.setup.max_depth} deep")
    number = state.below + 1
    child = child_session_id(active.record.lease.session, nested_run_id(call, number))
    await _take_place(active, CallMoved(call, Running(number)))
    info = SessionInfo(
        child,
        active.session.info.directory,
        created=active.seams.clock.wall(),
        agent=agent.name,
        parent=active.record.lease.session,
        app=active.session.info.app,
        place=active.session.info.place,
    )
    try:
        await active.record.journal.create(info)
        result, report = await agent.run_below(
            prompt, session=child, delegation=delegation_for(active, call), journal=active.record.journal, deps=deps
        )
    except ConfigError:
        # Nothing was started: the place is free again.
        await active.record.append(change=AccountChange(active.turn.start.account, starts=-1))
        raise
    active.nested[call] = _joined(active.nested.get(call), report)
    return result


async def _take_place(active: ActiveTurn, moved: CallMoved) -> None:
    """Take a place in the tree and record the new session; wait while all places are taken."""
    while True:
        kept = keeping(active, starting=1)
        change = AccountChange(active.turn.start.account, starts=1, keeps=kept.keeps if kept is not None else None)
        try:
            await active.record.append(moved, change=change, weight="intent")
            return
        except BudgetRefused as refused:
            if refused.shortage.limit != "live":
                raise ToolFailed("no further agent may be run: this turn has started as many as it may") from refused
        await active.seams.sleep(PLACE_SECONDS)


def _joined(before: Report | None, report: Report) -> Report:
    """Return the use of all agents that a call has run, as one report."""
    if before is None:
        return report
    return Report(
        report.child,
        report.reason,
        before.spent.plus(report.spent),
        before.usage.plus(report.usage),
        unasked=before.unasked or report.unasked,
        models=joined_use(before.models, report.models),
    )


async def recall_nested(active: ActiveTurn, call: str, state: Running) -> None:
    """Abort the agents that a call had run when its process died; their ending frees their places."""
    session = active.record.lease.session
    for number in range(1, state.below + 1):
        run = nested_run_id(call, number)
        child = child_session_id(session, run)
        try:
            await active.others.submit(child, AbortItem(recall_id(session, run), detail="the process of its tool died"))
        except NoSuchSession:
            # The process died before it created the session.
            await active.record.append(change=AccountChange(active.turn.start.account, starts=-1))
