"""The part of `fold` for tool calls: state changes, and passing a step's results to the model once all have ended."""

from __future__ import annotations

from typing import get_args

from msgspec.structs import replace

from bridle.core import states
from bridle.core.events import CallMoved
from bridle.core.fold_handoff import take_over
from bridle.core.ids import message_id
from bridle.core.messages import Attachment, ResultMessage, UserMessage
from bridle.core.parts import OUTPUT, Call
from bridle.core.permission import DOOM_LOOP
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Done, Failed, Refused, Running, Waiting
from bridle.core.usage import add_use

REFUSALS_THAT_REPEAT = get_args(states.NotAllowed)
MOST_CHANGED = 1_000
"""Maximum characters of changed arguments shown to the model."""

BACKGROUND = "background"
"""Result recorded by the repetition detector for a call that started a background subagent."""


def move_call(session: Session, event: CallMoved) -> None:
    """Apply the new state of a call."""
    call = session.call(event.id)
    turn = session.turn
    assert turn is not None
    moved = replace(call, state=event.state, changed=event.changed or call.changed)
    session.parts[event.id] = moved
    if event.id in turn.background:
        _move_background(session, turn, event)
        return
    turn.batch[event.id] = state = event.state
    match state:
        case Running():
            if not isinstance(call.state, (states.Repeat, Running)):
                _charge(turn, call)
        case Done() | Failed():
            _count_result(turn, state)
            if isinstance(state, Done):
                session.known_files.update(state.seen)
                if state.kept:
                    session.kept[call.name] = state.output
                session.todos = session.todos if state.todos is None else state.todos
            close_batch(session, turn)
        case Waiting():
            if not isinstance(call.state, Waiting):
                _charge(turn, call)
                turn.began[call.id] = session.elapsed
                turn.places = False
                session.children.add(state.child)
            turn.asked = turn.asked or bool(state.asks)
            if state.told:
                turn.background[call.id] = state
                close_batch(session, turn)
        case states.Queued():
            turn.places = False
        case states.Asking():
            turn.asked = True
        case Refused():
            turn.doom = turn.doom or state.refusal.name == "doom_loop"
            turn.unasked = turn.unasked or state.refusal.name == "unasked"
            close_batch(session, turn)
        case states.Approved():
            _approve(session, turn, moved, state)
        case states.Pending() | states.Repeat():
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
    _count_result(turn, state)
    if turn.step is not None and (turn.step.final or turn.synthesis == "done") and not turn.prompted:
        turn.kept_words = turn.words
    turn.kept_output = turn.output or turn.kept_output
    session.tell(UserMessage(message_id(event.id, "report"), state.output))
    turn.prompted = True


def _charge(turn: OpenTurn, call: Call) -> None:
    turn.used = replace(turn.used, tool_calls=turn.used.tool_calls + 1)
    turn.tally[call.name] = turn.tally.get(call.name, 0) + 1


def _approve(session: Session, turn: OpenTurn, call: Call, state: states.Approved) -> None:
    turn.granted[call.id] = (*turn.granted.get(call.id, ()), *state.accesses)
    if state.permission == DOOM_LOOP:
        turn.repetition.restart()
        if state.always:
            turn.doom_allowed.add(call.name)
    else:
        session.always.update(state.always)


def _count_result(turn: OpenTurn, state: Done | Failed) -> None:
    """Add the files of a call and the tokens and money of its subagent, whose steps and calls are not added."""
    turn.files.update(dict.fromkeys(state.files))
    report = state.report
    if report is None:
        return
    turn.usage = turn.usage.plus(report.usage)
    for model, use in report.models.items():
        add_use(turn.models, model, use)
    turn.used = turn.used.plus(report.spent.shared)
    turn.below = turn.below.plus(report.spent)
    turn.unasked = turn.unasked or report.unasked
    turn.places = True


def close_batch(session: Session, turn: OpenTurn) -> None:
    """Once every call of a step has ended, pass its results to the model and the detector, in call order."""
    if not all(map(_has_result, turn.batch.values())):
        return
    synthesize = bool(turn.batch)
    malformed = bool(turn.batch)
    attached: list[Attachment] = []
    for id, state in turn.batch.items():
        call = session.call(id)
        assert isinstance(state, (Waiting, Done, Failed, Refused))
        output = state.told if isinstance(state, Waiting) else state.output
        changed = f"the arguments of this call were changed to {call.changed[:MOST_CHANGED]}" if call.changed else ""
        text = "\n\n".join([output, *(f"[{note}]" for note in (call.note, changed) if note)])
        failed = isinstance(state, (Failed, Refused))
        session.say(ResultMessage(message_id(id, "result"), id, call.name, text, failed))
        synthesize = synthesize and isinstance(state, Done) and state.synthesize
        malformed = malformed and isinstance(state, Refused) and _is_malformed(state)
        if isinstance(state, Done):
            attached += state.attached
            turn.output = state.output if state.answers else turn.output
        if isinstance(state, Waiting):
            # The id of a subagent is always new, but a task that is started again and again is still a loop.
            turn.repetition.add(call.digest, BACKGROUND)
        elif not isinstance(state, Refused):
            turn.repetition.add(call.digest, state.digest)
        elif _is_malformed(state):
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
    take_over(session, turn)


def _has_result(state: states.CallState) -> bool:
    """Return whether a call has a result for the model: it has ended, or its subagent works in the background."""
    return isinstance(state, states.Ended) or (isinstance(state, Waiting) and bool(state.told))


def _is_malformed(state: Refused) -> bool:
    return state.refusal.name == "invalid" and not state.by_check
