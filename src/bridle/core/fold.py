"""`fold` takes one entry of the journal after the other into a session, and is its only writer."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from bridle.core.context import (
    AssistantMessage,
    CallMessage,
    ResultMessage,
    UserMessage,
    prompt_text,
)
from bridle.core.events import (
    CallMoved,
    Entry,
    PartGrown,
    PartPut,
    PartRemoved,
    Recorded,
    RequestMoved,
    SessionPut,
)
from bridle.core.parts import (
    Approved,
    Asking,
    Broken,
    Call,
    Cut,
    Done,
    Ended,
    Extension,
    Failed,
    Halt,
    Interrupted,
    Notice,
    Open,
    Part,
    Pending,
    Prompt,
    Reasoning,
    Refused,
    Repeat,
    Replied,
    Request,
    RequestState,
    ReservationRefused,
    Running,
    Sentinel,
    StepFinish,
    StepStart,
    Text,
    TurnFinish,
    TurnStart,
    Usage,
)
from bridle.core.permission import DOOM_LOOP
from bridle.core.session import OpenTurn, Session
from bridle.core.turn import Step

REFUSALS_THAT_REPEAT = ("denied", "unasked", "rejected", "hook")


def fold(session: Session, entry: Entry) -> None:
    """Take one entry of the journal."""
    session.sequence = entry.sequence
    session.elapsed = entry.elapsed
    for event in entry.events:
        _take(session, event)


def load(entries: Iterable[Entry]) -> Session:
    """The session that these entries describe."""
    session = Session()
    for entry in entries:
        fold(session, entry)
    return session


def _take(session: Session, event: Recorded) -> None:
    match event:
        case CallMoved():
            _move_call(session, event)
        case RequestMoved():
            _move_request(session, event)
        case PartPut(part):
            session.parts[part.id] = part
            _put(session, part)
        case PartGrown(id, offset, text):
            part = session.parts[id]
            assert isinstance(part, (Text, Reasoning)), id
            session.parts[id] = msgspec.structs.replace(part, text=part.text[:offset] + text)
        case PartRemoved(id):
            session.parts.pop(id, None)
            if session.turn is not None and id in session.turn.reply:
                session.turn.reply.remove(id)
        case SessionPut(info):
            session.info = info


def _put(session: Session, part: Part) -> None:
    if isinstance(part, TurnStart):
        session.turn = OpenTurn(part)
        session.turns = part.number
        session.system = part.system or session.system
    elif isinstance(part, Prompt):
        session.prompts[part.id] = part.turn
        session.tell(UserMessage(part.id, prompt_text(part.text, part.files)))
    elif isinstance(part, Notice) and part.told:
        session.tell(UserMessage(part.id, part.text))
    if session.turn is not None:
        _put_in_turn(session, session.turn, part)


def _put_in_turn(session: Session, turn: OpenTurn, part: Part) -> None:
    match part:
        case Text() | Reasoning():
            if isinstance(part, Text) and part.by == "bridle":
                session.say(AssistantMessage(part.id, part.text))
                turn.words = [part.id]
            else:
                turn.reply.append(part.id)
        case Call():
            turn.reply.append(part.id)
        case Request():
            turn.request = part
            turn.reply = []
            if turn.step is not None:
                turn.step = msgspec.structs.replace(turn.step, requests=turn.step.requests + 1, state="open")
        case StepStart():
            turn.steps += 1
            turn.step = Step(part.number, part.closing, began=session.elapsed)
            turn.prompted = False
            turn.words = []
        case StepFinish():
            _finish_step(session, turn, part)
        case Prompt():
            if part.turn == turn.start.number:
                if turn.step is not None and turn.step.final and not turn.prompted:
                    _answer(session, turn, tuple(turn.words))
                turn.prompted = True
                turn.prompts.append(part.id)
        case Notice():
            if part.limit is not None:
                turn.warned |= {part.limit}
        case ReservationRefused():
            turn.refused = turn.refused or part
            turn.closing_refused = turn.closing_refused or part.closing
        case Extension():
            _extend(turn, part)
        case Halt():
            turn.halt = turn.halt or part
        case TurnFinish():
            turn.finish = part
            _answer(session, turn, part.answer)
        case Sentinel() | TurnStart():
            pass


def _answer(session: Session, turn: OpenTurn, words: tuple[str, ...]) -> None:
    """These words answer every prompt of the turn that has no answer yet."""
    for prompt in turn.prompts:
        session.answers.setdefault(prompt, words)


def _extend(turn: OpenTurn, part: Extension) -> None:
    if part.limit == "steps":
        turn.cap += int(part.by)
    else:
        turn.limits = turn.limits.raised(part.limit, part.by)
    turn.warned -= {part.limit}
    if turn.refused is not None and turn.refused.limit == part.limit:
        turn.refused = None
        turn.closing_refused = False


def _finish_step(session: Session, turn: OpenTurn, finish: StepFinish) -> None:
    assert turn.step is not None
    parts = [session.parts[id] for id in turn.reply]
    turn.batch = {part.id: part.state for part in parts if isinstance(part, Call)}
    turn.words = [part.id for part in parts if isinstance(part, Text) and part.text.strip()]
    turn.cut = finish.cut
    turn.step = msgspec.structs.replace(
        turn.step,
        state="finished",
        calls=len(turn.batch),
        empties=turn.step.empties + 1 if finish.empty else 0,
    )
    text = "".join(part.text for part in parts if isinstance(part, Text))
    if turn.batch or text.strip():
        reasoning = "".join(part.text for part in parts if isinstance(part, Reasoning))
        calls = tuple(CallMessage(part.id, part.name, part.arguments) for part in parts if isinstance(part, Call))
        session.say(AssistantMessage(finish.id, text, reasoning, calls))
    if turn.request is not None and isinstance(turn.request.state, Replied):
        session.counted_characters = session.characters
    _close_batch(session, turn)


def _move_call(session: Session, event: CallMoved) -> None:
    call = session.call(event.id)
    turn = session.turn
    assert turn is not None
    moved = msgspec.structs.replace(call, state=event.state)
    session.parts[event.id] = moved
    turn.batch[event.id] = state = event.state
    match state:
        case Running():
            if not isinstance(call.state, Repeat):
                turn.tool_calls += 1
                turn.tally[call.name] = turn.tally.get(call.name, 0) + 1
        case Done() | Failed():
            turn.files.update(dict.fromkeys(state.files))
            _close_batch(session, turn)
        case Refused():
            turn.doom = turn.doom or state.refusal.name == "doom_loop"
            turn.unasked = turn.unasked or state.refusal.name == "unasked"
            _close_batch(session, turn)
        case Approved():
            _approve(session, turn, moved, state)
        case Pending() | Asking() | Repeat():
            pass


def _approve(session: Session, turn: OpenTurn, call: Call, state: Approved) -> None:
    if state.permission == DOOM_LOOP:
        turn.repetition.restart()
        if state.always:
            turn.doom_allowed.add(call.name)
    else:
        session.always.update(state.always)


def _close_batch(session: Session, turn: OpenTurn) -> None:
    """Once every call of a step has ended: its results reach the model and the detector, in call order."""
    if not all(isinstance(state, Ended) for state in turn.batch.values()):
        return
    for id, state in turn.batch.items():
        call = session.call(id)
        assert isinstance(state, (Done, Failed, Refused))
        text = f"{state.output}\n\n[{call.note}]" if call.note else state.output
        session.say(ResultMessage(f"{id}.result", id, call.name, text, not isinstance(state, Done)))
        if not isinstance(state, Refused):
            turn.repetition.add(call.digest, state.digest)
        elif state.refusal.name == "invalid":
            turn.repetition.add_malformed()
        elif state.refusal.name in REFUSALS_THAT_REPEAT:
            turn.repetition.add(call.digest, state.refusal.name)
    turn.batch = {}
    session.release()


def _move_request(session: Session, event: RequestMoved) -> None:
    turn = session.turn
    assert turn is not None
    request = session.parts[event.id]
    assert isinstance(request, Request)
    session.parts[event.id] = moved = msgspec.structs.replace(request, state=event.state)
    turn.request = moved
    step = turn.step
    assert step is not None
    state: RequestState = event.state
    match state:
        case Open():
            _count(turn, state.tries[-1].usage, state.tries[-1].cost)
            turn.step = msgspec.structs.replace(step, tries=step.tries + 1)
        case Replied() | Cut() | Broken():
            _count(turn, state.usage, state.cost)
            if isinstance(state, Replied):
                session.counted = state.usage.total
            elif isinstance(state, Cut):
                turn.step = msgspec.structs.replace(step, cut=state.by)
                turn.doom = turn.doom or state.by == "chant"
            else:
                turn.step = msgspec.structs.replace(step, state="failed")
        case Interrupted():
            turn.tokens += state.tokens
            turn.cost += state.cost
            turn.step = msgspec.structs.replace(step, state="interrupted", deaths=step.deaths + 1)


def _count(turn: OpenTurn, usage: Usage, cost: float) -> None:
    turn.usage = turn.usage.plus(usage)
    turn.tokens += usage.total
    turn.cost += cost
