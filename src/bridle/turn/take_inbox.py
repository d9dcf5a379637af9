"""Moves inbox items (prompts, answers, aborts, extensions, reports) into the record; says which may start a turn."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from bridle.core.action import Wait
from bridle.core.context import ANSWERED
from bridle.core.decide import decide
from bridle.core.events import CallMoved, PartPut, Recorded
from bridle.core.ids import extension_id, notice_id, read_ask_address, rejection_id, turn_part_id, wanted_id
from bridle.core.inbox import (
    AbortItem,
    AnswerItem,
    ChildAsksItem,
    ChildEndedItem,
    CompactItem,
    ExtendItem,
    InboxItem,
    PromptItem,
    SupplyItem,
    TurnItem,
)
from bridle.core.ledger import AccountChange
from bridle.core.limits import LIMITS
from bridle.core.parts import Compaction, Extension, Halt, Notice, Part, Prompt
from bridle.core.permission import Access
from bridle.core.repair import arguments_of, result_digest
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Approved, Ask, Asking, Done, Failed, Refusal, Refused
from bridle.core.turn import Turn
from bridle.errors import ConfigError
from bridle.turn.active_turn import ActiveTurn, capped_output
from bridle.turn.children import keeping, reported
from bridle.turn.take_at_once import take_at_once, waits_at_once

HOLDING = ("aborted", "denied", "error")
"""After a turn with one of these endings, queued prompts wait for the person."""


def startable(session: Session, items: Iterable[InboxItem], *, held_prompts: bool) -> PromptItem | None:
    """Return the prompt that opens the next turn; None if none may."""
    holding = session.ended in HOLDING and not held_prompts
    prompts = [item for item in items if isinstance(item, PromptItem) and item.reply]
    # A parent's prompt never waits for a person.
    steered = [item for item in prompts if not item.queue or item.of_parent]
    if holding:
        return steered[0] if steered else None
    return prompts[0] if prompts else None


def openable(session: Session, items: list[InboxItem], *, held_prompts: bool) -> bool:
    """Return whether an item in the inbox opens a turn, or needs none."""
    asked = any(isinstance(item, CompactItem) for item in items)
    return asked or waits_at_once(items) or startable(session, items, held_prompts=held_prompts) is not None


def recalled(items: Iterable[InboxItem]) -> bool:
    """Return whether a parent's prompt is followed by its abort: its turn ends at once, and the parent is notified."""
    waiting = list(items)
    prompted = any(isinstance(item, PromptItem) and item.of_parent for item in waiting)
    return prompted and any(isinstance(item, AbortItem) for item in waiting)


def answerable(session: Session, items: Iterable[InboxItem]) -> bool:
    """Return whether an item in the inbox can move a turn that awaits a person or its subagents."""
    if session.running is None:
        return False
    turn, view = session.running, session.view(session.elapsed)
    steers = (_paused(turn, view) and turn.halt is None) or steerable(turn, view)
    return any(not isinstance(item, PromptItem) or not item.reply or (steers and not item.queue) for item in items)


def steerable(turn: OpenTurn, view: Turn) -> bool:
    """Return whether the running turn takes a prompt now: no call is open, it is not closing, and a step is left."""
    stops = view.halt is not None or view.closing is not None or turn.synthesis == "done"
    return not stops and not view.open_calls and (view.step is None or view.step.number < view.cap)


async def take_inbox(active: ActiveTurn) -> None:
    """Record the items that can be taken now; only at decision boundaries do items from outside change a turn."""
    async with active.taking:
        await _take(active, await take_at_once(active.record, await _inbox(active)))


async def take_beside(active: ActiveTurn) -> None:
    """Record the items that change no turn, while an effect of the turn runs."""
    async with active.taking:
        await take_at_once(active.record, await _inbox(active))


async def _inbox(active: ActiveTurn) -> list[InboxItem]:
    return await active.record.journal.inbox(active.record.lease.session)


async def _take(active: ActiveTurn, items: list[TurnItem]) -> None:
    if active.session.running is None:
        await _take_idle(active, items)
        return
    # Remaining items, for example a queued prompt, are checked again at the next boundary.
    active.mail = bool(items)
    # A report may make room for earlier prompts: they are still taken in their order.
    waiting: list[TurnItem] = []
    for item in items:
        steers = isinstance(item, PromptItem) and item.reply and not item.queue
        if not (steers and waiting):
            await _take_running(active, item)
        if steers and item.id not in active.session.parts:
            waiting.append(item)
    for item in waiting:
        await _take_running(active, item)


async def _take_idle(active: ActiveTurn, items: list[TurnItem]) -> None:
    """With no turn running, record prompts that need no reply, drop late items, and open a turn."""
    first = startable(active.session, items, held_prompts=active.held_prompts)
    for item in items:
        if item is first:
            # Items after the prompt are meant for its turn.
            break
        match item:
            case PromptItem():
                if not item.reply:
                    await active.record.append(PartPut(_prompt(item, 0)), take=(item.id,))
            case CompactItem():
                await _open(active, item)
                return
            case AnswerItem() | AbortItem() | ExtendItem() | SupplyItem() | ChildAsksItem() | ChildEndedItem():
                await active.record.append(take=(item.id,))
    if first is not None:
        await _open(active, first)


async def _open(active: ActiveTurn, item: PromptItem | CompactItem) -> None:
    """Open the turn of a prompt, or one without a prompt that compacts the context and ends."""
    number = active.session.turns + 1
    prompt = item if isinstance(item, PromptItem) else PromptItem(item.id, "")
    opening = await active.turns.open(active.session, prompt, number)
    parts: list[Part] = [opening.start]
    if prompt is item:
        parts += opening.notices
        if active.session.unfinished is not None:
            text = "an undo or redo was interrupted: the history has changed, but not all files have been restored"
            parts.append(Notice(notice_id(number, "undo"), "undo", text))
        parts.append(_prompt(prompt, number))
    else:
        parts.append(Compaction(wanted_id(number), "manual", "open"))
    if opening.problem:
        parts.append(Halt(turn_part_id(number, "halt"), "error", opening.problem))
    change = AccountChange(opening.accounts[0].id, opens=opening.accounts)
    await active.record.append(*map(PartPut, parts), change=change, take=(item.id,), weight="intent", opens_turn=True)


def _prompt(item: PromptItem, turn: int) -> Prompt:
    return Prompt(
        item.id, item.text, item.files, turn, item.wants, subtask=item.subtask, metadata=item.metadata, shell=item.shell
    )


async def _take_running(active: ActiveTurn, item: TurnItem) -> None:
    turn = active.turn
    match item:
        case AbortItem():
            events: list[Recorded] = []
            if item.turn in (0, turn.start.number) and turn.halt is None:
                events.append(PartPut(Halt(turn_part_id(turn.start.number, "halt"), "aborted", item.detail)))
            await active.record.append(*events, take=(item.id,))
        case AnswerItem():
            await active.record.append(*_answered(active, turn, item), take=(item.id,))
        case SupplyItem():
            await active.record.append(*_supplied(active, turn, item), take=(item.id,))
        case ExtendItem():
            await _extend(active, turn, item)
        case PromptItem():
            await _steer(active, turn, item)
        case CompactItem():
            wanted = Compaction(wanted_id(turn.start.number, item.id), "manual", "open")
            await active.record.append(PartPut(wanted), take=(item.id,))
        case ChildAsksItem():
            await active.record.append(*_child_asks(turn, item), take=(item.id,))
        case ChildEndedItem():
            await _child_ended(active, turn, item)


def _child_asks(turn: OpenTurn, item: ChildAsksItem) -> list[Recorded]:
    state = turn.under_way.get(item.call)
    if state is None or state.child != item.child:
        return []
    return [CallMoved(item.call, msgspec.structs.replace(state, asks=item.asks))]


async def _child_ended(active: ActiveTurn, turn: OpenTurn, item: ChildEndedItem) -> None:
    state = turn.under_way.get(item.call)
    if state is None or state.child != item.report.child:
        await active.record.append(take=(item.id,))
        return
    active.record.advance(turn.began[item.call] + item.report.spent.seconds)
    ended = reported(active, state, item)
    change = keeping(active, heard=len(ended.output)) if len(turn.children) > 1 else None
    await active.record.append(CallMoved(item.call, ended), change=change, take=(item.id,))


def _answered(active: ActiveTurn, turn: OpenTurn, item: AnswerItem) -> list[Recorded]:
    for id, state in turn.batch.items():
        if isinstance(state, Asking) and state.ask.id == item.ask:
            if item.choice == "reject":
                return _rejected(turn, id, item.feedback)
            if state.ask.kind == "question":
                text = ANSWERED + item.feedback
                return [CallMoved(id, Done(text, result_digest(text)))]
            if state.ask.kind == "deferred":
                return []
            if item.arguments is not None:
                return _changed(active, id, state.ask, item)
            ask, always = state.ask.accesses, item.choice == "always"
            approved = Approved(ask[0].permission, ask if always else (), ask)
            return [CallMoved(id, approved), *(_kept(active, item, ask) if always else ())]
    # Answered twice, or after the turn continued: the first answer holds.
    return []


def _changed(active: ActiveTurn, id: str, ask: Ask, item: AnswerItem) -> list[Recorded]:
    """Return the approval of a call with other arguments; if they do not fit its tool, the ask stays open.

    The person approves the accesses of the new arguments. Rules that deny them still hold.
    """
    call, arguments = active.session.call(id), msgspec.json.encode(item.arguments).decode()
    tool = active.setup.toolset.tools.get(call.name)
    try:
        assert tool is not None
        accesses = tool.accesses(tool.check(arguments_of(arguments)), active.setup.commands.directory)
    except Exception as error:
        # A tool is foreign code, and the arguments come from outside.
        text = f"the changed arguments do not fit {call.name}: {error}"
        return [PartPut(Notice(notice_id(active.turn.start.number, item.id), "approval", text, item=item.id))]
    return [CallMoved(id, Approved(ask.accesses[0].permission, (), accesses), arguments)]


def _supplied(active: ActiveTurn, turn: OpenTurn, item: SupplyItem) -> list[Recorded]:
    """Return the ending of a deferred call; none if the call awaits no result, or got one before."""
    state = turn.batch.get(item.call)
    if not isinstance(state, Asking) or state.ask.kind != "deferred":
        return []
    text, stored = capped_output(active, item.call, item.output)
    ended = Failed if item.failed else Done
    return [CallMoved(item.call, ended(text, result_digest(item.output), stored=stored))]


def _kept(active: ActiveTurn, item: AnswerItem, accesses: Iterable[Access]) -> list[Recorded]:
    """Store an "always" for the project; on failure it holds for this session, and the reader is told."""
    approvals = active.setup.permissions.approvals
    try:
        if approvals is not None:
            approvals.add(accesses)
    except ConfigError as error:
        return [PartPut(Notice(notice_id(active.turn.start.number, item.id), "approval", str(error)))]
    return []


def _rejected(turn: OpenTurn, id: str, feedback: str) -> list[Recorded]:
    state = turn.batch[id]
    doom = isinstance(state, Asking) and state.ask.accesses[0].permission == "doom_loop"
    text = "not executed: a person rejected it" + (f" and said: {feedback}" if feedback else "")
    refusal = Refusal("doom_loop" if doom and not feedback else "rejected")
    events: list[Recorded] = [CallMoved(id, Refused(refusal, text))]
    if not doom and not feedback:
        events.append(PartPut(Halt(turn_part_id(turn.start.number, "halt"), "denied", "a call was rejected")))
    return events


async def _extend(active: ActiveTurn, turn: OpenTurn, item: ExtendItem) -> None:
    problem = _not_extendable(active, turn, item)
    id = extension_id(turn.start.number, item.id)
    if problem:
        await active.record.append(PartPut(Notice(id, "extension", problem, item=item.id)), take=(item.id,))
        return
    # A program may pass a whole number; the record must read back as it was written.
    by = float(min(item.by, active.setup.ceiling - turn.cap) if item.limit == "steps" else item.by)
    change = None
    if LIMITS[item.limit].shared:
        account = await active.record.journal.account(turn.start.account)
        assert account is not None
        change = AccountChange(account.id, limits=account.limits.raised(item.limit, by))
    await active.record.append(PartPut(Extension(id, item.limit, by, item.id)), change=change, take=(item.id,))


def _not_extendable(active: ActiveTurn, turn: OpenTurn, item: ExtendItem) -> str:
    if turn.step is not None and turn.step.closing is not None:
        return f"{item.limit} not extended: the turn is closing already"
    if item.limit == "steps":
        room = active.setup.ceiling - turn.cap
        return "" if room > 0 and turn.cap > 0 else f"steps not extended: the ceiling is {active.setup.ceiling}"
    if turn.limits.of(item.limit) is None:
        return f"{item.limit} not extended: no such limit is set for this turn"
    return ""


async def _steer(active: ActiveTurn, turn: OpenTurn, item: PromptItem) -> None:
    view = active.session.view(active.record.elapsed)
    if not item.reply:
        await active.record.append(PartPut(_prompt(item, 0)), take=(item.id,))
        return
    if _paused(turn, view) and not item.queue and not view.pending and view.halt is None:
        await _answer_by_prompt(active, turn, item, view.asking)
    elif not item.queue and steerable(turn, view):
        await active.record.append(PartPut(_prompt(item, turn.start.number)), take=(item.id,))


def _paused(turn: OpenTurn, view: Turn) -> bool:
    """Return whether a person is awaited; an ask from the background counts when nothing else can continue."""
    awaited = view.asking or any(turn.under_way[id].asks for id in view.waiting + view.recalled)
    stuck = turn.background and all(state.asks for state in turn.background.values())
    return bool(awaited or (stuck and isinstance(decide(view), Wait)))


async def _answer_by_prompt(active: ActiveTurn, turn: OpenTurn, item: PromptItem, asking: tuple[str, ...]) -> None:
    """Reject the open asks here and below with a prompt to a paused session as feedback."""
    for ask in turn.asks:
        if ask.session:
            reject = AnswerItem(rejection_id(item.id, ask.id), read_ask_address(ask.id).ask, "reject", item.text)
            await active.others.submit(ask.session, reject)
    events: list[Recorded] = []
    for id in asking:
        events += _rejected(turn, id, item.text)
    await active.record.append(*events, PartPut(_prompt(item, turn.start.number)), take=(item.id,))
