"""Runs a step's tool calls: authorize, charge the budget, start subagents, run the others together, record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from bridle.core.context import sound
from bridle.core.events import CallMoved, PartDelta, PartPut, Recorded
from bridle.core.ids import step_part_id
from bridle.core.ledger import AccountChange, BudgetRefused, Shortage
from bridle.core.limits import Spent, closing_seconds
from bridle.core.parts import Call, ReservationRefused
from bridle.core.repair import result_digest
from bridle.core.states import CallState, Done, Ended, Failed, Queued, Refusal, Refused, Repeat, Running, Waiting
from bridle.errors import ToolFailed, error_text
from bridle.journal.journal import Weight
from bridle.tools.output_buffer import Printed
from bridle.tools.tool import Invocation, Output, Tool, as_output, hands_to
from bridle.turn.active_turn import ActiveTurn, capped_output
from bridle.turn.authorize import Authority
from bridle.turn.children import child_of, keeping, start_children
from bridle.turn.hand_over import handed_over, keep_first, prepare
from bridle.turn.hooks import after_hooks, ask_hooks, hook_notices
from bridle.turn.patch_files import begin_patch, finish_patch
from bridle.turn.run_agent import run_agent
from bridle.turn.scope import LATE, Aborted, Late, cancelled_by_us


async def run_calls(active: ActiveTurn, ids: tuple[str, ...]) -> None:
    """Judge these calls, start subagents and run the others together; each ending is recorded as it comes."""
    verdicts = Authority(active).judge(ids)
    _find_children(active, verdicts, {})
    if changed := await ask_hooks(active, verdicts):
        _find_children(active, verdicts, changed)
    keep_first(active, verdicts)
    kept = await begin_patch(active, verdicts)
    if active.scope.aborted and (active.setup.hooks or active.setup.snapshots is not None):
        # Nothing has begun; the abort is in the inbox, and settles these calls.
        return
    short: list[Recorded] = []
    while True:
        _refuse_beyond_budget(active, verdicts)
        started = any(isinstance(state, (Running, Waiting)) for state in verdicts.values())
        weight: Weight = "intent" if started else "plain"
        try:
            moves = (*kept, *hook_notices(active, changed, verdicts), *_moves(active, verdicts, changed), *short)
            await active.record.append(*moves, change=_charge(active, verdicts), weight=weight)
            break
        except BudgetRefused as refused:
            short += _admit(active, verdicts, refused.shortage)
    await start_children(active)
    await _run_together(active, [id for id, state in verdicts.items() if isinstance(state, Running)])
    await finish_patch(active)


def _moves(active: ActiveTurn, verdicts: dict[str, CallState], changed: dict[str, str]) -> list[Recorded]:
    """Return the changed states; if there are none, record one waiting call again, to prevent a busy loop."""
    moves: list[Recorded] = []
    waiting_on: list[Recorded] = []
    for id, state in verdicts.items():
        same = isinstance(state, Queued) and isinstance(active.session.call(id).state, Queued)
        (waiting_on if same else moves).append(CallMoved(id, state, changed.get(id, "")))
    return moves or waiting_on[:1]


def _find_children(active: ActiveTurn, verdicts: dict[str, CallState], changed: dict[str, str]) -> None:
    """Give calls that start a subagent the subagent's state instead of running them. May be called twice."""
    tools = active.setup.toolset.tools
    running = [active.session.call(id) for id, state in verdicts.items() if isinstance(state, Running)]
    starting = [call for call in running if tools[call.name].starts_child]
    if not starting:
        return
    busy = {*active.turn.children.values(), *(state.child for state in verdicts.values() if isinstance(state, Waiting))}
    for call in starting:
        call = replace(call, changed=changed.get(call.id, call.changed))
        verdicts[call.id] = child = child_of(active, call, busy)
        if isinstance(child, Waiting):
            busy.add(child.child)


def _charge(active: ActiveTurn, verdicts: dict[str, CallState]) -> AccountChange | None:
    """Return the charge for the starting calls and the places of their subagents, as one change."""
    fresh = sum(_is_fresh(active, id, state) for id, state in verdicts.items())
    if not fresh:
        return None
    starts = sum(isinstance(state, Waiting) for state in verdicts.values())
    kept = keeping(active, starting=starts) if starts else None
    keeps = kept.keeps if kept is not None else None
    beside = sum(isinstance(state, Waiting) and bool(state.told) for state in verdicts.values())
    return AccountChange(
        active.turn.start.account, charges=Spent(tool_calls=fresh), keeps=keeps, starts=starts, beside=beside
    )


def _is_fresh(active: ActiveTurn, id: str, state: CallState) -> bool:
    return isinstance(state, (Running, Waiting)) and not isinstance(active.session.call(id).state, Repeat)


def _admit(active: ActiveTurn, verdicts: dict[str, CallState], short: Shortage) -> list[Recorded]:
    """Let only as many calls start as the tree has room for: the last ones wait for a place, or are refused.

    If the tree has no calls left, that closes the turn.
    """
    room = max(0, int(short.fits_now))
    children = [id for id, state in verdicts.items() if isinstance(state, Waiting)]
    if short.limit == "live":
        verdicts.update(_without_place(active, verdicts, children[room:]))
        return []
    if short.limit == "total":
        text = "not executed: this turn has started as many subagents as it may"
        verdicts.update(dict.fromkeys(children[room:], Refused(Refusal("limit", "total"), text)))
        return []
    granted = [id for id, state in verdicts.items() if _is_fresh(active, id, state)]
    verdicts.update(dict.fromkeys(granted[room:], _exhausted("tree budget exhausted")))
    step = active.turn.step
    assert step is not None
    id = step_part_id(active.turn.start.number, step.number, "refused.tool_calls")
    spent = float(min(short.allowed, short.spent + room))
    return [PartPut(ReservationRefused(id, "tool_calls", short.scope, spent=spent, allowed=float(short.allowed)))]


def _without_place(active: ActiveTurn, verdicts: dict[str, CallState], late: list[str]) -> dict[str, CallState]:
    """Queue calls for which the tree has no place.

    A background subagent that queued for a place would keep its own meanwhile, and a tree of these would deadlock. It
    awaits its subagents instead, and lends its place to the first.
    """
    found = {id: state for id, state in verdicts.items() if isinstance(state, Waiting) and state.told}
    if found and active.turn.start.delegation is not None:
        return {id: Waiting(state.child) for id, state in found.items()}
    return dict.fromkeys(late, Queued())


def _exhausted(words: str) -> Refused:
    return Refused(Refusal("limit", "tool_calls"), f"not executed: {words}")


def _refuse_beyond_budget(active: ActiveTurn, verdicts: dict[str, CallState]) -> None:
    allowed = active.turn.limits.tool_calls
    if allowed is None:
        return
    left = allowed - active.turn.used.tool_calls
    if left >= len(verdicts):
        return
    for id, state in verdicts.items():
        if _is_fresh(active, id, state):
            if left <= 0:
                verdicts[id] = _exhausted("tool budget exhausted")
            left -= 1


async def _run_together(active: ActiveTurn, granted: list[str]) -> None:
    if len(granted) == 1:
        await _run_one(active, granted[0])
    elif granted:
        # All of them finish, even if one fails: a call without its record is lost.
        ends = await asyncio.gather(*(_run_one(active, id) for id in granted), return_exceptions=True)
        for end in ends:
            if end is not None:
                raise end


async def _run_one(active: ActiveTurn, id: str) -> None:
    await active.scope.in_place(_run_placed(active, id), _seconds_left(active))


async def _run_placed(active: ActiveTurn, id: str) -> None:
    call = active.session.call(id)
    tool = active.setup.toolset.tools[call.name]
    seconds, by_turn = _deadline(active, tool)
    invocation = _invocation(active, id, seconds)
    if (caller := active.setup.toolset.caller) is not None:
        runner = partial(run_agent, active, id)
        invocation.make_context = partial(
            caller.context, call=id, epoch=active.record.lease.epoch, show=invocation.print, runner=runner
        )
    outcome: Output | Aborted | Late = LATE
    if seconds:
        outcome = await active.scope.run(_invoke(active, tool, call, invocation), seconds)
    if not isinstance(outcome, Output):
        late = "the turn's time is up" if by_turn else f"timed out after {seconds:g} s"
        why = "aborted" if isinstance(outcome, Aborted) else late
        printed = invocation.printed.text()
        outcome = invocation.output(f"{printed}\n\n[{why}]" if printed else f"[{why}]", failed=True)
    if active.setup.hooks:
        outcome = await after_hooks(active, call, outcome)
    moved = CallMoved(id, _ended(active, call, outcome, invocation.seen))
    turn, (events, change) = active.turn, await handed_over(active, outcome)
    if events:
        await active.record.append(*events, moved, change=change)
    elif turn.patch is None and all(isinstance(state, Ended) for other, state in turn.batch.items() if other != id):
        # The last call of its step: the next request or the end of the turn follows.
        await active.record.append_with_next(moved)
    else:
        await active.record.append(moved)


def _invocation(active: ActiveTurn, id: str, seconds: float) -> Invocation:
    setup, session = active.setup, active.record.lease.session
    return Invocation(
        call=id,
        session=session,
        commands=setup.commands,
        known_files=active.session.known_files,
        timeout_seconds=seconds,
        printed=Printed(partial(setup.outputs.file, session, id) if setup.outputs is not None else None),
        show=_shower(active, id),
        hosts=active.hosts,
        recall=lambda name: active.session.kept.get(name, ""),
    )


def _shower(active: ActiveTurn, id: str) -> Callable[[str], None]:
    offset = 0

    def show(text: str) -> None:
        nonlocal offset
        active.record.publish(active.record.lease.session, PartDelta(id, offset, text, "output"))
        offset += len(text)

    return show


def _deadline(active: ActiveTurn, tool: Tool) -> tuple[float, bool]:
    """Return the seconds that this call may take, and whether the turn's time limits them."""
    left = _seconds_left(active)
    if left is None:
        return tool.timeout_seconds, False
    return min(tool.timeout_seconds, left), left < tool.timeout_seconds


def _seconds_left(active: ActiveTurn) -> float | None:
    """Return the time that the turn's limit leaves for calls, if it has one."""
    allowed = active.turn.limits.seconds
    return None if allowed is None else max(0.0, allowed - closing_seconds(allowed) - active.record.elapsed)


async def _invoke(active: ActiveTurn, tool: Tool, call: Call, invocation: Invocation) -> Output:
    """Return the tool's output or its error; only our own cancellation is raised."""
    try:
        ready = active.ready.pop(call.id)
        if target := hands_to(tool):
            return await prepare(active, target)
        invocation.permits = partial(active.permits, ready.granted)
        return as_output(tool.spec.name, await tool.run(ready.arguments, invocation))
    except ToolFailed as error:
        return Output(str(error), failed=True)
    except (Exception, SystemExit, BaseExceptionGroup, asyncio.CancelledError) as error:
        # A tool is foreign code: its exceptions end its call, never the turn.
        if cancelled_by_us(error):
            raise
        return Output(f"{tool.spec.name} failed: {error_text(error)}", failed=True)


def _ended(active: ActiveTurn, call: Call, output: Output, seen: dict[str, str]) -> Done | Failed:
    text, stored = (output.text, output.stored) if output.stored else capped_output(active, call.id, output.text)
    text = sound(text)
    digest = output.digest or result_digest(output.text)
    files = tuple(map(sound, output.files))
    report = active.nested.pop(call.id, None)
    returned = (text, digest, files, stored)
    if output.failed:
        return Failed(*returned, report=report, by=output.by)
    todos = output.todos and tuple(replace(todo, content=sound(todo.content)) for todo in output.todos)
    return Done(
        *returned,
        report=report,
        by=output.by,
        synthesize=output.synthesize,
        kept=output.kept,
        seen=seen,
        attached=output.attached,
        todos=todos,
        diff=sound(output.diff),
    )
