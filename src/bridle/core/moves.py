"""The fold's transitions: a step ends, a call changes its state, or a request changes its state."""

from __future__ import annotations

import msgspec

from bridle.core.events import CallMoved, RequestMoved
from bridle.core.ids import message_id
from bridle.core.messages import (
    AssistantMessage,
    AssistantText,
    Attachment,
    CallMessage,
    ResultMessage,
    Thought,
    UserMessage,
)
from bridle.core.parts import OUTPUT, Call, Reasoning, Request, StepFinish, Text
from bridle.core.permission import DOOM_LOOP
from bridle.core.session import OpenTurn, Session
from bridle.core.states import (
    Approved,
    Asking,
    Broken,
    CallState,
    Cut,
    Done,
    Ended,
    Failed,
    Interrupted,
    Open,
    Pending,
    Queued,
    Refused,
    Repeat,
    Replied,
    Report,
    RequestState,
    Running,
    Usage,
    Waiting,
)
from bridle.core.turn import SideRequest

REFUSALS_THAT_REPEAT = ("denied", "unasked", "rejected", "hook")
MOST_CHANGED = 1_000
"""Maximum characters of changed arguments shown to the model."""

BACKGROUND = "background"
"""Result recorded by the repetition detector for a call that started a background subagent."""


def has_result(state: CallState) -> bool:
    """Return whether a call has a result to show to the model."""
    return isinstance(state, Ended) or (isinstance(state, Waiting) and bool(state.told))


def begin_request(session: Session, turn: OpenTurn, request: Request) -> None:
    """Record that a request is about to be sent: for a step, a side request, or a title."""
    if request.purpose == "title":
        turn.title = request
        return
    turn.request = request
    turn.reply = []
    if request.purpose in ("compaction", "synthesis"):
        side_request = turn.side_request
        if side_request is None or side_request.purpose != request.purpose:
            side_request = SideRequest(request.purpose, began=session.elapsed)
        turn.side_request = msgspec.structs.replace(side_request, state="open", requests=side_request.requests + 1)
    else:
        assert turn.step is not None
        # Every prompt so far is part of this request, whether it is the first of its step or a later attempt.
        turn.prompted = False
        turn.step = msgspec.structs.replace(turn.step, requests=turn.step.requests + 1, state="open")


def finish_step(session: Session, turn: OpenTurn, finish: StepFinish) -> None:
    """Apply the end of a step's request, whole or cut: its text and its calls are known."""
    assert turn.step is not None
    parts = [session.parts[id] for id in turn.reply]
    turn.batch = {part.id: part.state for part in parts if isinstance(part, Call)}
    turn.words = [part.id for part in parts if isinstance(part, Text) and part.text.strip()]
    turn.cut = finish.cut
    if any(isinstance(part, Call) and part.written for part in parts):
        session.written[turn.start.model] = session.written.get(turn.start.model, 0) + 1
    turn.step = msgspec.structs.replace(
        turn.step,
        state="finished",
        calls=len(turn.batch),
        empties=turn.step.empties + 1 if finish.empty else 0,
    )
    if turn.batch or turn.words:
        while parts and isinstance(parts[-1], Reasoning):
            # A thought that led to nothing: providers refuse a reply that ends in one.
            parts.pop()
        blocks = tuple(_block(part) for part in parts if isinstance(part, (Text, Reasoning, Call)))
        session.say(AssistantMessage(finish.id, blocks, turn.start.model))
    if turn.request is not None and isinstance(turn.request.state, Replied):
        usage = turn.request.state.usage
        session.count(usage)
        # If the provider still counts too much after a compaction, it gained nothing, despite the estimate.
        full = 0 < turn.start.compact_at < usage.total
        turn.compactions = turn.compactions if full else 0
    _close_batch(session, turn)


def _block(part: Text | Reasoning | Call) -> AssistantText | Thought | CallMessage:
    match part:
        case Text():
            return AssistantText(part.text)
        case Reasoning():
            return Thought(part.text, part.seal)
        case Call():
            return CallMessage(part.id, part.name, part.arguments, part.seal)


def move_call(session: Session, event: CallMoved) -> None:
    """Apply the new state of a call."""
    call = session.call(event.id)
    turn = session.turn
    assert turn is not None
    moved = msgspec.structs.replace(call, state=event.state, changed=event.changed or call.changed)
    session.parts[event.id] = moved
    if event.id in turn.background:
        _move_background(session, turn, event)
        return
    turn.batch[event.id] = state = event.state
    match state:
        case Running():
            if not isinstance(call.state, Repeat):
                _charge(turn, call)
        case Waiting():
            if not isinstance(call.state, Waiting):
                _charge(turn, call)
                turn.began[call.id] = session.elapsed
                turn.places = False
                session.children.add(state.child)
            turn.asked = turn.asked or bool(state.asks)
            if state.told:
                turn.background[call.id] = state
                _close_batch(session, turn)
        case Queued():
            turn.places = False
        case Asking():
            turn.asked = True
        case Done() | Failed():
            turn.files.update(dict.fromkeys(state.files))
            if isinstance(state, Done):
                session.known_files.update(state.seen)
                if state.kept:
                    session.kept[call.name] = state.output
                session.todos = session.todos if state.todos is None else state.todos
            if state.report is not None:
                _count_report(turn, state.report)
            _close_batch(session, turn)
        case Refused():
            turn.doom = turn.doom or state.refusal.name == "doom_loop"
            turn.unasked = turn.unasked or state.refusal.name == "unasked"
            _close_batch(session, turn)
        case Approved():
            _approve(session, turn, moved, state)
        case Pending() | Repeat():
            pass


def _move_background(session: Session, turn: OpenTurn, event: CallMoved) -> None:
    """Apply the report of a background subagent; the model reads it after the results of an open batch."""
    state = event.state
    if isinstance(state, Waiting):
        turn.background[event.id] = state
        turn.asked = turn.asked or bool(state.asks)
        return
    assert isinstance(state, (Done, Failed)), event
    del turn.background[event.id]
    turn.began.pop(event.id, None)
    turn.files.update(dict.fromkeys(state.files))
    if state.report is not None:
        _count_report(turn, state.report)
    if turn.step is not None and (turn.step.final or turn.synthesis == "done") and not turn.prompted:
        turn.kept_words = turn.words
    turn.kept_output = turn.output or turn.kept_output
    session.tell(UserMessage(message_id(event.id, "report"), state.output))
    turn.prompted = True


def _charge(turn: OpenTurn, call: Call) -> None:
    turn.tool_calls += 1
    turn.tally[call.name] = turn.tally.get(call.name, 0) + 1


def _approve(session: Session, turn: OpenTurn, call: Call, state: Approved) -> None:
    turn.granted[call.id] = (*turn.granted.get(call.id, ()), *state.accesses)
    if state.permission == DOOM_LOOP:
        turn.repetition.restart()
        if state.always:
            turn.doom_allowed.add(call.name)
    else:
        session.always.update(state.always)


def _count_report(turn: OpenTurn, report: Report) -> None:
    """Add a subagent's tokens and money to its parent's; its steps and calls remain its own."""
    turn.usage = turn.usage.plus(report.usage)
    turn.tokens += report.spent.tokens
    turn.cost += report.spent.cost
    turn.below = turn.below.plus(report.spent)
    turn.unasked = turn.unasked or report.unasked
    turn.places = True


def _close_batch(session: Session, turn: OpenTurn) -> None:
    """Once every call of a step has ended, pass its results to the model and the detector, in call order."""
    if not all(map(has_result, turn.batch.values())):
        return
    synthesize = bool(turn.batch)
    malformed = bool(turn.batch)
    attached: list[Attachment] = []
    for id, state in turn.batch.items():
        call = session.call(id)
        assert isinstance(state, (Waiting, Done, Failed, Refused))
        output = state.told if isinstance(state, Waiting) else state.output
        changed = f"a hook changed the arguments of this call to {call.changed[:MOST_CHANGED]}" if call.changed else ""
        text = "\n\n".join([output, *(f"[{note}]" for note in (call.note, changed) if note)])
        session.say(ResultMessage(message_id(id, "result"), id, call.name, text, isinstance(state, (Failed, Refused))))
        synthesize = synthesize and isinstance(state, Done) and state.synthesize
        malformed = malformed and isinstance(state, Refused) and state.refusal.name == "invalid"
        if isinstance(state, Done):
            attached += state.attached
            turn.output = state.output if state.answers else turn.output
        if isinstance(state, Waiting):
            # The id of a subagent is always new, but a task that is started again and again is still a loop.
            turn.repetition.add(call.digest, BACKGROUND)
        elif not isinstance(state, Refused):
            turn.repetition.add(call.digest, state.digest)
        elif state.refusal.name == "invalid":
            turn.misfits += call.name == OUTPUT
        elif state.refusal.name in REFUSALS_THAT_REPEAT:
            turn.repetition.add(call.digest, state.refusal.name)
    if malformed:
        turn.repetition.add_malformed()
    if attached:
        # Not every wire accepts images in results; all accept them in user messages.
        names = ", ".join(each.name for each in attached)
        shown = message_id(next(iter(turn.batch)), "attached")
        session.say(UserMessage(shown, f"[read: {names}]", tuple(attached), "attached"))
    if synthesize:
        turn.synthesis = "due"
        turn.last_batch = tuple(turn.batch)
    turn.batch = {}
    turn.began = {id: began for id, began in turn.began.items() if id in turn.background}
    session.release()


def move_request(session: Session, event: RequestMoved) -> None:
    """Apply the new state of a request."""
    turn = session.turn
    assert turn is not None
    request = session.parts[event.id]
    assert isinstance(request, Request)
    session.parts[event.id] = moved = msgspec.structs.replace(request, state=event.state)
    if moved.purpose == "title":
        turn.title = moved
    else:
        turn.request = moved
    state: RequestState = event.state
    match state:
        case Open():
            _count(turn, state.tries[-1].usage, state.tries[-1].cost)
        case Replied() | Cut() | Broken():
            _count(turn, state.usage, state.cost)
        case Interrupted():
            turn.tokens += state.tokens
            turn.cost += state.cost
    if request.purpose in ("compaction", "synthesis"):
        _move_errand(turn, state)
    elif request.purpose != "title":
        _move_step(session, turn, state)


def _move_step(session: Session, turn: OpenTurn, state: RequestState) -> None:
    step = turn.step
    assert step is not None
    match state:
        case Open():
            turn.step = msgspec.structs.replace(step, tries=step.tries + 1)
        case Replied():
            pass
        case Cut():
            turn.step = msgspec.structs.replace(step, cut=state.by)
            turn.doom = turn.doom or state.by == "chant"
        case Broken():
            turn.overflowed = turn.overflowed or state.overflow
            turn.step = msgspec.structs.replace(step, state="interrupted" if state.overflow else "failed")
        case Interrupted():
            turn.step = msgspec.structs.replace(step, state="interrupted", deaths=step.deaths + 1)


def _move_errand(turn: OpenTurn, state: RequestState) -> None:
    side_request = turn.side_request
    assert side_request is not None
    match state:
        case Open():
            turn.side_request = msgspec.structs.replace(side_request, tries=side_request.tries + 1)
        case Replied():
            # The sender judges the reply: a usable one is recorded together with its use.
            turn.side_request = msgspec.structs.replace(side_request, state="finished", blanks=side_request.blanks + 1)
            turn.cut = state.finish == "length" if side_request.purpose == "synthesis" else turn.cut
        case Cut() | Broken():
            turn.side_request = msgspec.structs.replace(side_request, state="failed")
            turn.synthesis = "failed" if side_request.purpose == "synthesis" else turn.synthesis
        case Interrupted():
            turn.side_request = msgspec.structs.replace(
                side_request, state="interrupted", deaths=side_request.deaths + 1
            )


def _count(turn: OpenTurn, usage: Usage, cost: float) -> None:
    turn.usage = turn.usage.plus(usage)
    turn.tokens += usage.total
    turn.cost += cost
