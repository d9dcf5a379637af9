"""The part of `fold` for records added to the running turn: prompt, reply, step, notice, compaction, ending."""

from __future__ import annotations

from msgspec.structs import replace

from bridle.core import parts
from bridle.core.compaction import compacted, pruned
from bridle.core.fold_handoff import hand_over
from bridle.core.fold_requests import begin_request, finish_step
from bridle.core.messages import AssistantMessage, AssistantText
from bridle.core.parts import Call, History, Reasoning, Redone, Request, StepFinish, StepStart, Text, Undone, Withdrawn
from bridle.core.session import OpenTurn, Session
from bridle.core.turn import Step

OLD = (Call, Text, Reasoning, Request, StepStart, StepFinish, parts.Notice, History)
"""Kinds of parts that a summary replaces."""


def put_in_turn(session: Session, turn: OpenTurn, part: parts.Part) -> None:
    """Apply a new part to the running turn; parts that belong to no turn change nothing."""
    match part:
        case Text() if part.by == "bridle" or turn.synthesis == "due":
            if turn.prompts:
                # A turn without a prompt only compacts: its text is for the reader.
                session.say(AssistantMessage(part.id, (AssistantText(part.text),)))
            turn.words = [part.id]
            turn.synthesis = "done" if turn.synthesis == "due" else turn.synthesis
        case Text() | Reasoning() | Call():
            turn.reply.append(part.id)
        case Request():
            begin_request(session, turn, part)
        case StepStart():
            turn.used = replace(turn.used, steps=turn.used.steps + 1)
            turn.step = Step(part.number, part.closing, began=session.elapsed)
            turn.words = []
            turn.synthesis = turn.output = ""
            turn.side_request = None
        case StepFinish():
            finish_step(session, turn, part)
        case parts.Prompt():
            if part.turn == turn.start.number:
                if turn.step is not None and turn.step.final and not turn.prompted:
                    _answer(session, turn, tuple(turn.words))
                    turn.kept_words = []
                turn.prompted = True
                turn.prompts.append(part.id)
        case parts.Notice():
            _note(turn, part)
        case parts.ReservationRefused():
            turn.refused = turn.refused or part
            turn.closing_refused = turn.closing_refused or part.closing
        case parts.Compaction():
            _compact(session, turn, part)
        case parts.Patch():
            turn.patch = part if part.state == "open" else None
            turn.last_patch = part if part.state == "taken" else turn.last_patch
            turn.files.update(dict.fromkeys(each.path for each in part.files))
        case parts.Extension():
            _extend(turn, part)
        case parts.Handoff():
            hand_over(turn, part)
        case parts.Halt():
            turn.halt = turn.halt or part
        case parts.TurnFinish():
            _finish(session, turn, part)
        case parts.Sentinel() | parts.TurnStart() | Undone() | Redone() | Withdrawn() | History():
            pass


def _note(turn: OpenTurn, part: parts.Notice) -> None:
    if part.limit is not None:
        turn.warned |= {part.limit}
    elif part.about == "budget":
        turn.noted.add(part.id)
    elif part.about == "output":
        turn.reminded += 1


def _answer(session: Session, turn: OpenTurn, words: tuple[str, ...]) -> None:
    """Record this text as the answer to every prompt of the turn that has none yet."""
    for prompt in turn.prompts:
        session.answers.setdefault(prompt, words)


def _finish(session: Session, turn: OpenTurn, part: parts.TurnFinish) -> None:
    turn.finish = part
    session.ended = part.reason if turn.prompts else session.ended
    _answer(session, turn, part.answer)


def _extend(turn: OpenTurn, part: parts.Extension) -> None:
    turn.limits = turn.limits.raised(part.limit, part.by)
    turn.warned -= {part.limit}
    if turn.refused is not None and turn.refused.limit == part.limit:
        turn.refused = None
        turn.closing_refused = False


def _compact(session: Session, turn: OpenTurn, part: parts.Compaction) -> None:
    if part.outcome == "open":
        turn.wanted = part
        return
    if part.cause != "prune":
        turn.wanted = None
        turn.side_request = None
        turn.compactions += 1
        turn.compacted += 1
        turn.last_compaction = part
    if part.outcome == "smaller":
        turn.overflowed = False
        messages = session.messages
        if part.cause == "prune":
            session.rewrite(pruned(messages, part))
        else:
            session.rewrite(compacted(messages, part, turn.prompts))
            if session.lean:
                _forget(session, turn)


def _forget(session: Session, turn: OpenTurn) -> None:
    """Drop the parts that a summary replaces: driving a session does not need them, and the journal keeps them."""
    needed = {id for words in session.answers.values() for id in words}.union(turn.words, turn.reply)
    needed.update(turn.background, turn.kept_words)
    for id, part in tuple(session.parts.items()):
        if isinstance(part, OLD) and id not in needed and part is not turn.request:
            del session.parts[id]
