"""Starts subagents: each `task` call gets a session of its own, whose questions and report return by the inbox."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from bridle.core import ids
from bridle.core.context import estimate_tokens
from bridle.core.events import CallMoved, Recorded, SessionInfo
from bridle.core.fold import load
from bridle.core.inbox import AbortItem, ChildAsksItem, ChildEndedItem, PromptItem, TurnOptions
from bridle.core.ledger import AccountChange
from bridle.core.limits import LOWEST_OUTPUT_TOKENS, seconds_left
from bridle.core.parts import Call, Delegation, Sentinel, Text
from bridle.core.repair import arguments_of, result_digest
from bridle.core.session import Session
from bridle.core.states import Ask, Done, Failed, Queued, Refusal, Refused, Report, Waiting
from bridle.errors import ConfigError, NoSuchSession
from bridle.tools.task import TaskArguments
from bridle.turn.active_turn import ActiveTurn, OtherSessions, capped_output
from bridle.turn.send_request import closing_need, input_tokens
from bridle.values.traceparent import traceparent_in

GOOD_ENDINGS = ("answered", "synthesized")


def _arguments(active: ActiveTurn, call: Call) -> TaskArguments:
    given: TaskArguments = active.setup.toolset.tools[call.name].check(arguments_of(call.given))
    return given


def child_of(active: ActiveTurn, call: Call, busy: Collection[str]) -> Waiting | Refused:
    """Return the subagent that a permitted call starts or resumes, or why it cannot have one."""
    given = _arguments(active, call)
    deepest = active.setup.max_depth
    if active.turn.depth >= deepest:
        text = f"not executed: no subagent may be started here, since a tree may be {deepest} deep"
        return Refused(Refusal("limit", "depth"), text)
    if given.subagent_type not in active.setup.toolset.subagents:
        known = ", ".join(sorted(active.setup.toolset.subagents))
        return Refused(Refusal("invalid"), f'There is no subagent "{given.subagent_type}". There are: {known}.')
    if not given.task_id:
        return _started(ids.child_session_id(active.record.lease.session, call.id), given)
    # A fork has the same history, but the subagents in it belong to the session it was forked from.
    ours = ids.is_below(given.task_id, active.record.lease.session)
    if given.task_id not in active.session.children or not ours:
        return Refused(Refusal("invalid"), f'"{given.task_id}" is no subagent of this session')
    if given.task_id in busy:
        return Refused(Refusal("invalid"), f'"{given.task_id}" is still at work')
    return _started(given.task_id, given)


def _started(child: str, given: TaskArguments) -> Waiting:
    told = f"[subagent {child}: started in the background; its report will be told when it has ended]"
    return Waiting(child, told=told if given.background else "")


def keeping(active: ActiveTurn, *, starting: int = 0, heard: int = 0) -> AccountChange | None:
    """Return the reserve for the closing request after the subagents have reported: no child may spend it.

    `heard` are characters of a report about to be recorded: results of an open batch are not in the context.
    """
    under_way = starting + len(active.turn.background)
    for state in active.turn.batch.values():
        if isinstance(state, Waiting) and state.told:
            heard += len(state.told)
        elif isinstance(state, (Waiting, Queued)):
            under_way += 1
        elif isinstance(state, (Done, Failed, Refused)):
            heard += len(state.output)
    try:
        reads = input_tokens(active) + estimate_tokens(heard) + under_way * LOWEST_OUTPUT_TOKENS
        return AccountChange(active.turn.start.account, keeps=closing_need(active, reads))
    except ConfigError:
        # The setup of the turn no longer exists: there will be no closing request.
        return None


async def start_children(active: ActiveTurn) -> None:
    """Ensure that every subagent of the open calls exists, has its prompt, and is driven. May be called twice."""
    session = active.record.lease.session
    for id, child in active.turn.children.items():
        prompt = ids.child_prompt_id(session, id)
        if prompt in active.others.submitted:
            continue
        given = _arguments(active, active.session.call(id))
        assert active.session.info is not None
        here, now = active.session.info.directory, active.seams.clock.wall()
        app, place = active.session.info.app, active.session.info.place
        info = SessionInfo(
            child, here, given.description, now, given.subagent_type, parent=session, app=app, place=place
        )
        info = replace(info, approvals=active.session.info.approvals)
        await active.record.journal.create(info)
        terms = delegation_for(active, id)
        options = TurnOptions(given.subagent_type, on_ask=active.turn.start.on_ask, delegation=terms)
        metadata = active.turn_prompt.metadata
        item = PromptItem(prompt, given.prompt, queue=True, options=options, metadata=metadata)
        await active.others.submit(child, item)
        active.others.submitted.add(prompt)


def delegation_for(active: ActiveTurn, call: str) -> Delegation:
    """Return the terms of a subagent that works for a call."""
    turn, setup = active.turn, active.setup
    allowed = turn.limits.seconds
    above = turn.start.delegation
    return Delegation(
        parent=active.record.lease.session,
        call=call,
        account=turn.start.account,
        depth=turn.depth + 1,
        model=turn.model,
        fallbacks=turn.candidates[1:],
        rules=(*setup.permissions.layers, setup.permissions.rules),
        without=setup.toolset.without,
        always=tuple(sorted(active.session.always, key=lambda access: (access.permission, access.pattern))),
        seconds=None if allowed is None else seconds_left(allowed, active.record.elapsed),
        reads_only=setup.commands.reads_only,
        background=call in turn.background,
        origin=above.origin if above is not None else active.turn_prompt.id,
        root=(above.root if above is not None else "") or turn.start.account,
        traceparent=above.traceparent if above is not None else traceparent_in(active.turn_prompt.metadata),
    )


async def recall(active: ActiveTurn, calls: Collection[str]) -> tuple[list[Recorded], AccountChange | None]:
    """Tell these subagents to stop; their endings are awaited, since the tree pays for their use until then.

    One that never got its prompt will not end: its call ends instead, and returns its place.
    """
    moved: list[Recorded] = []
    never: list[str] = []
    under_way, session = active.turn.under_way, active.record.lease.session
    for id in calls:
        state = under_way[id]
        child = state.child
        if await _was_prompted(active, child, ids.child_prompt_id(session, id)):
            abort = AbortItem(ids.recall_id(session, id), detail="the turn above it has ended")
            await active.others.submit(child, abort)
            moved.append(CallMoved(id, msgspec.structs.replace(state, asks=(), recalled=True)))
        else:
            never.append(id)
            failed = f"[{_named(state)}: it could not be started]"
            moved.append(CallMoved(id, Failed(failed, result_digest("not started"))))
    beside = sum(id in active.turn.background for id in never)
    change = AccountChange(active.turn.start.account, starts=-len(never), beside=-beside) if never else None
    return moved, change


def _named(state: Waiting) -> str:
    return f"background subagent {state.child}" if state.told else f"subagent {state.child}"


async def _was_prompted(active: ActiveTurn, child: str, prompt: str) -> bool:
    if prompt in active.others.submitted:
        return True
    try:
        waiting = await active.record.journal.inbox(child)
        taken = load(await active.record.journal.load(child)).prompts
    except NoSuchSession:
        return False
    return prompt in taken or any(item.id == prompt for item in waiting)


async def report_asks(active: ActiveTurn) -> None:
    """Report the open asks here and below to the parent whenever they change; the root shows them."""
    turn = active.session.running
    if turn is None or turn.start.delegation is None or not turn.asked:
        return
    session = active.record.lease.session
    asks = tuple(_addressed(session, ask) for ask in turn.asks)
    if asks == active.reported:
        return
    delegation = turn.start.delegation
    item = ChildAsksItem(ids.asks_report_id(session, active.session.sequence), delegation.call, session, asks)
    await active.others.report(delegation.parent, item)
    active.reported = asks


def has_ended(session: Session) -> bool:
    """Return whether the last turn of a session was started by a parent and has ended."""
    turn = session.turn
    return turn is not None and turn.finish is not None and turn.start.delegation is not None


def _addressed(session: str, ask: Ask) -> Ask:
    """Return an ask whose id says where its answer goes."""
    return ask if ask.session else msgspec.structs.replace(ask, id=ids.ask_address(session, ask.id), session=session)


async def report_end(session: Session, others: OtherSessions) -> None:
    """Report the ending of a subagent to its parent. May be called twice: the parent receives it once."""
    turn = session.turn
    if turn is None or turn.finish is None or turn.start.delegation is None:
        return
    assert session.info is not None
    delegation, finish = turn.start.delegation, turn.finish
    total = finish.spent.with_subagents(turn.below)
    report = Report(session.info.id, finish.reason, total, finish.usage, finish.unasked, models=finish.models)
    words = (session.parts[id] for id in finish.answer)
    text = "".join(part.text for part in words if isinstance(part, Text))
    sentinel = session.parts.get(ids.turn_part_id(finish.number, "sentinel"))
    headline = sentinel.text if isinstance(sentinel, Sentinel) else ""
    told = ids.end_report_id(session.info.id, finish.number)
    ended = ChildEndedItem(told, delegation.call, report, text, headline, files=finish.files)
    await others.report(delegation.parent, ended)


def reported(active: ActiveTurn, state: Waiting, item: ChildEndedItem) -> Done | Failed:
    """Return the result of a call whose subagent has ended: how it ended, its id, and its text."""
    report = item.report
    good = report.reason in GOOD_ENDINGS
    ending = f"{report.reason}" if good else f"NOT complete, it ended with {report.reason}: {item.headline}"
    text, stored = capped_output(active, item.call, item.text)
    output = f"[{_named(state)}: {ending}]\n\n{text}"
    ended = Done if good else Failed
    return ended(output, result_digest(f"{report.reason} {item.text}"), item.files, stored, report)
