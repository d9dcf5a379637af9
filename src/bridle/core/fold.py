"""The fold of journal entries into a session, entry by entry; nothing else changes a session."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from bridle.core.compaction import compacted, pruned
from bridle.core.context import prompt_text
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
from bridle.core.messages import AssistantMessage, AssistantText, Attachment, UserMessage
from bridle.core.moves import begin_request, finish_step, move_call, move_request
from bridle.core.parts import (
    Call,
    Compaction,
    Extension,
    Halt,
    Notice,
    Part,
    Patch,
    Prompt,
    Reasoning,
    Redone,
    Request,
    ReservationRefused,
    Sentinel,
    StepFinish,
    StepStart,
    Text,
    TurnFinish,
    TurnStart,
    Undone,
)
from bridle.core.session import OpenTurn, Session
from bridle.core.turn import Step
from bridle.core.undo import visible

OF_THE_SESSION = (TurnStart, Prompt, Notice, Undone, Redone)
"""Kinds of parts that matter beyond their turn; most parts, and the most numerous, do not."""


def fold(session: Session, entry: Entry) -> None:
    """Apply one journal entry to the session."""
    session.sequence = entry.sequence
    session.elapsed = entry.elapsed
    for event in entry.events:
        _take(session, event)


def load(entries: Sequence[Entry]) -> Session:
    """Return the session that these entries describe, starting with its first entry."""
    session = Session()
    for entry in visible(entries):
        fold(session, entry)
    return session


def _take(session: Session, event: Recorded) -> None:
    match event:
        case CallMoved():
            move_call(session, event)
        case RequestMoved():
            move_request(session, event)
        case PartPut():
            session.parts[event.part.id] = event.part
            _put(session, event.part)
        case PartGrown(id, offset, text):
            part = session.parts[id]
            assert isinstance(part, (Text, Reasoning)), id
            grown = msgspec.structs.replace(part, text=part.text[:offset] + text)
            if isinstance(grown, Reasoning) and event.seal:
                grown = msgspec.structs.replace(grown, seal=event.seal)
            session.parts[id] = grown
        case PartRemoved(id):
            session.parts.pop(id, None)
            if session.turn is not None and id in session.turn.reply:
                session.turn.reply.remove(id)
        case SessionPut(info):
            session.info = info


def _put(session: Session, part: Part) -> None:
    if isinstance(part, OF_THE_SESSION):
        _put_in_session(session, part)
    if session.turn is not None:
        _put_in_turn(session, session.turn, part)


def _put_in_session(session: Session, part: TurnStart | Prompt | Notice | Undone | Redone) -> None:
    if isinstance(part, TurnStart):
        session.turn = OpenTurn(part)
        session.turns = part.number
        session.undone.clear()
        session.unfinished = None
        session.system = part.system or session.system
        if part.delegation is not None:
            session.always.update(part.delegation.always)
    elif isinstance(part, Prompt):
        session.prompts[part.id] = part.turn
        attached = tuple(Attachment(file.path, file.media, file.data) for file in part.files if file.data)
        session.tell(UserMessage(part.id, prompt_text(part.text, part.files), attached))
    elif isinstance(part, Notice):
        if part.told:
            session.tell(UserMessage(part.id, part.text))
    elif isinstance(part, Undone):
        session.undone[part.id] = part
        session.turns = max(session.turns, part.turns)
        session.unfinished = None if part.restored else part
    else:
        session.undone.pop(part.undone, None)
        session.unfinished = None if part.restored else part


def _put_in_turn(session: Session, turn: OpenTurn, part: Part) -> None:
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
            turn.steps += 1
            turn.step = Step(part.number, part.closing, began=session.elapsed)
            turn.words = []
            turn.synthesis = turn.output = ""
            turn.side_request = None
        case StepFinish():
            finish_step(session, turn, part)
        case Prompt():
            if part.turn == turn.start.number:
                if turn.step is not None and turn.step.final and not turn.prompted:
                    _answer(session, turn, tuple(turn.words))
                    turn.kept_words = []
                turn.prompted = True
                turn.prompts.append(part.id)
        case Notice():
            _note(turn, part)
        case ReservationRefused():
            turn.refused = turn.refused or part
            turn.closing_refused = turn.closing_refused or part.closing
        case Compaction():
            _compact(session, turn, part)
        case Patch():
            turn.patch = part if part.state == "open" else None
            turn.last_patch = part if part.state == "taken" else turn.last_patch
            turn.files.update(dict.fromkeys(each.path for each in part.files))
        case Extension():
            _extend(turn, part)
        case Halt():
            turn.halt = turn.halt or part
        case TurnFinish():
            turn.finish = part
            session.ended = part.reason if turn.prompts else session.ended
            _answer(session, turn, part.answer)
        case Sentinel() | TurnStart() | Undone() | Redone():
            pass


def _note(turn: OpenTurn, part: Notice) -> None:
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


def _extend(turn: OpenTurn, part: Extension) -> None:
    turn.limits = turn.limits.raised(part.limit, part.by)
    turn.warned -= {part.limit}
    if turn.refused is not None and turn.refused.limit == part.limit:
        turn.refused = None
        turn.closing_refused = False


def _compact(session: Session, turn: OpenTurn, part: Compaction) -> None:
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
        old = isinstance(part, (Call, Text, Reasoning, Request, StepStart, StepFinish, Notice))
        if old and id not in needed and part is not turn.request:
            del session.parts[id]
