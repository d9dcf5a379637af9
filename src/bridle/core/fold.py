"""Event sourcing: `fold` applies recorded entries to the state of a session; nothing else changes that state."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from bridle.core.context import prompt_text
from bridle.core.events import CallMoved, Entry, PartGrown, PartPut, PartRemoved, RequestMoved, SessionPut
from bridle.core.fold_calls import move_call
from bridle.core.fold_requests import move_request
from bridle.core.fold_turns import put_in_turn
from bridle.core.history import parts_of
from bridle.core.messages import Attachment, UserMessage
from bridle.core.parts import History, Notice, Prompt, Reasoning, Redone, Text, TurnStart, Undone
from bridle.core.session import OpenTurn, Session
from bridle.core.undo import visible

OF_THE_SESSION = (TurnStart, Prompt, Notice, Undone, Redone, History)
"""Kinds of parts that matter beyond their turn; most parts, and the most numerous, do not."""


def fold(session: Session, entry: Entry) -> None:
    """Apply one journal entry to the session."""
    session.sequence = entry.sequence
    session.elapsed = entry.elapsed
    for event in entry.events:
        match event:
            case CallMoved():
                move_call(session, event)
            case RequestMoved():
                move_request(session, event)
            case PartPut():
                part = event.part
                session.parts[part.id] = part
                if isinstance(part, OF_THE_SESSION):
                    _put_in_session(session, part)
                if session.turn is not None:
                    put_in_turn(session, session.turn, part)
            case PartGrown():
                _grow(session, event)
            case PartRemoved(id):
                session.parts.pop(id, None)
                if session.turn is not None and id in session.turn.reply:
                    session.turn.reply.remove(id)
            case SessionPut(info):
                session.info = info


def load(entries: Sequence[Entry]) -> Session:
    """Return the session that these entries describe, starting with its first entry."""
    session = Session()
    for entry in visible(entries):
        fold(session, entry)
    return session


def _grow(session: Session, event: PartGrown) -> None:
    part = session.parts[event.id]
    assert isinstance(part, (Text, Reasoning)), event.id
    grown = replace(part, text=part.text[: event.offset] + event.text)
    if isinstance(grown, Reasoning) and event.seal:
        grown = replace(grown, seal=event.seal)
    session.parts[event.id] = grown


def _put_in_session(session: Session, part: TurnStart | Prompt | Notice | Undone | Redone | History) -> None:
    if isinstance(part, TurnStart):
        session.turn = OpenTurn(part)
        session.turns = part.number
        session.agents[part.number] = part.agent
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
    elif isinstance(part, History):
        for message in part.messages:
            session.tell(message)
        session.parts |= {shown.id: shown for shown in parts_of(part.messages)}
    else:
        session.undone.pop(part.undone, None)
        session.unfinished = None if part.restored else part
