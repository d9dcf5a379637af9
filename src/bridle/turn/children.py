"""Subagents: a call becomes a session of its own, its asks and its ending come back through the inbox."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from bridle.core.context import cap_output, sound
from bridle.core.events import CallMoved, Recorded, SessionInfo
from bridle.core.inbox import AbortItem, ChildAsksItem, ChildEndedItem, PromptItem, TurnOptions
from bridle.core.ledger import Change
from bridle.core.limits import LOWEST_OUTPUT_TOKENS, Spent, closing_seconds
from bridle.core.parts import Call, Mandate, Sentinel, Text
from bridle.core.repair import arguments_of, result_digest
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Ask, Done, Failed, Queued, Refusal, Refused, Report, Waiting
from bridle.errors import NoSuchSession
from bridle.journal.journal import Journal
from bridle.tools.task import TaskArguments
from bridle.turn.rig import Kin, Rig
from bridle.turn.sending import closing_need, input_tokens

GOOD_ENDINGS = ("answered", "synthesized")


def _arguments(rig: Rig, call: Call) -> TaskArguments:
    given: TaskArguments = rig.tack.tools[call.name].check(arguments_of(call.arguments))
    return given


def _depth(turn: OpenTurn) -> int:
    return turn.start.mandate.depth if turn.start.mandate is not None else 0


def child_of(rig: Rig, call: Call, busy: Collection[str]) -> Waiting | Refused:
    """The subagent that a permitted call starts, or goes on with; or why it cannot have one."""
    given = _arguments(rig, call)
    if _depth(rig.turn) >= rig.tack.max_depth:
        text = f"not executed: a subagent of depth {rig.tack.max_depth} may not start another"
        return Refused(Refusal("limit", "depth"), text)
    if given.subagent_type not in rig.tack.subagents:
        known = ", ".join(sorted(rig.tack.subagents))
        return Refused(Refusal("invalid"), f'There is no subagent "{given.subagent_type}". There are: {known}.')
    if not given.task_id:
        return Waiting(f"{rig.record.lease.session}.{call.id}")
    if given.task_id not in rig.session.children:
        return Refused(Refusal("invalid"), f'"{given.task_id}" is no subagent of this session')
    if given.task_id in busy:
        return Refused(Refusal("invalid"), f'"{given.task_id}" is still at work')
    return Waiting(given.task_id)


def keeping(rig: Rig, *, starting: int = 0) -> Change:
    """What the closing request will need once the subagents have reported: no child may spend that."""
    under_way = sum(isinstance(state, (Waiting, Queued)) for state in rig.turn.batch.values()) + starting
    reads = input_tokens(rig) + under_way * LOWEST_OUTPUT_TOKENS
    return Change(rig.turn.start.account, keeps=closing_need(rig, reads))


async def start_children(rig: Rig) -> None:
    """See to it that every subagent of the open calls exists, has its prompt, and is driven. May be called twice."""
    session, journal = rig.record.lease.session, rig.record.journal
    for id, child in rig.turn.children.items():
        prompt = f"{session}:{id}"
        if prompt in rig.kin.started:
            continue
        given = _arguments(rig, rig.session.call(id))
        assert rig.session.info is not None
        info = SessionInfo(
            child,
            rig.session.info.directory,
            given.description,
            rig.seams.clock.wall(),
            given.subagent_type,
            parent=session,
        )
        await journal.create(info)
        options = TurnOptions(given.subagent_type, on_ask=rig.turn.start.on_ask, mandate=_mandate(rig, id))
        await journal.submit(child, PromptItem(prompt, given.prompt, queue=True, options=options))
        rig.kin.started.add(prompt)
        rig.kin.wake(child)


def _mandate(rig: Rig, call: str) -> Mandate:
    turn, tack = rig.turn, rig.tack
    allowed = turn.limits.seconds
    above = turn.start.mandate
    return Mandate(
        parent=rig.record.lease.session,
        call=call,
        account=turn.start.account,
        depth=_depth(turn) + 1,
        model=turn.start.model,
        rules=(*tack.layers, tack.rules),
        without=tack.without,
        always=tuple(sorted(rig.session.always, key=lambda access: (access.permission, access.pattern))),
        seconds=None if allowed is None else max(1.0, allowed - closing_seconds(allowed) - rig.record.elapsed),
        priced=turn.limits.cost is not None or (above is not None and above.priced) or tack.tree_cost,
    )


async def recall(rig: Rig, ids: Collection[str]) -> list[Recorded]:
    """Tell these subagents to stop; their endings are awaited, since what they spend until then is the tree's."""
    moved: list[Recorded] = []
    for id in ids:
        child = rig.turn.children[id]
        try:
            abort = AbortItem(f"{rig.record.lease.session}:{id}.abort", detail="the turn above it has ended")
            await rig.record.journal.submit(child, abort)
        except NoSuchSession:
            moved.append(CallMoved(id, Failed("[the subagent could not be started]", result_digest("not started"))))
            continue
        rig.kin.wake(child)
        moved.append(CallMoved(id, Waiting(child, recalled=True)))
    return moved


async def report_asks(rig: Rig) -> None:
    """Tell the parent what is asked here and below, whenever that has changed; the root shows it."""
    turn = rig.session.running
    if turn is None or turn.start.mandate is None or not turn.asked:
        return
    session = rig.record.lease.session
    asks = tuple(_addressed(session, ask) for ask in turn.asks)
    if asks == rig.reported:
        return
    mandate = turn.start.mandate
    item = ChildAsksItem(f"{session}.asks.{rig.session.sequence}", mandate.call, session, asks)
    await rig.record.journal.submit(mandate.parent, item)
    rig.reported = asks
    rig.kin.wake(mandate.parent)


def _addressed(session: str, ask: Ask) -> Ask:
    """An ask whose id says where its answer goes."""
    return ask if ask.session else msgspec.structs.replace(ask, id=f"{session}:{ask.id}", session=session)


async def report_end(session: Session, journal: Journal, kin: Kin) -> None:
    """Tell the parent how its subagent ended. May be called twice: the parent hears it once."""
    turn = session.turn
    if turn is None or turn.finish is None or turn.start.mandate is None:
        return
    assert session.info is not None
    mandate, finish = turn.start.mandate, turn.finish
    told = f"{session.info.id}/{finish.number}.ended"
    if told in kin.started:
        return
    spent = finish.spent
    below = turn.below
    total = Spent(
        spent.steps + below.steps, spent.tool_calls + below.tool_calls, spent.tokens, spent.cost, spent.seconds
    )
    report = Report(session.info.id, finish.reason, total, finish.usage, finish.unasked)
    words = (session.parts[id] for id in finish.answer)
    text = "".join(part.text for part in words if isinstance(part, Text))
    sentinel = session.parts.get(f"{finish.number}.sentinel")
    headline = sentinel.text if isinstance(sentinel, Sentinel) else ""
    await journal.submit(mandate.parent, ChildEndedItem(told, mandate.call, report, text, headline, finish.files))
    kin.started.add(told)
    kin.wake(mandate.parent)


def reported(rig: Rig, item: ChildEndedItem) -> Done | Failed:
    """The result of a call whose subagent has ended: how it ended, its id, and its words."""
    report = item.report
    good = report.reason in GOOD_ENDINGS
    ending = f"{report.reason}" if good else f"NOT complete, it ended with {report.reason}: {item.headline}"
    text, capped = cap_output(sound(item.text))
    stored = ""
    if capped and rig.tack.store_output is not None:
        stored = rig.tack.store_output(rig.record.lease.session, item.call, item.text)
        text += f"\n\n[the whole report is in {stored}]"
    output = f"[subagent {report.child}: {ending}]\n\n{text}"
    ended = Done if good else Failed
    return ended(output, result_digest(f"{report.reason} {item.text}"), item.files, stored, report)
