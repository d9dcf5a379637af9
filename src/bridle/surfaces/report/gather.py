"""Collects the data of a report from a session's entries: turns, steps and tool calls with their times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bridle.core.events import CallMoved, Entry, PartPut, Recorded, RequestMoved
from bridle.core.fold import fold
from bridle.core.limits import UNLIMITED, Limits, Spent, spent_by
from bridle.core.parts import (
    Call,
    Compaction,
    Extension,
    Notice,
    Patch,
    Prompt,
    Reasoning,
    Request,
    Sentinel,
    StepFinish,
    StepStart,
    Text,
    TurnFinish,
    TurnStart,
)
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Ended, Open, Replied, Running, Usage, Waiting
from bridle.core.undo import visible


@dataclass
class CallRow:
    """A tool call with its start and end in active seconds of its turn; None if it never ran."""

    call: Call
    began: float | None = None
    ended: float | None = None
    child: str = ""
    below: list[TurnView] = field(default_factory=list)


@dataclass
class StepRow:
    """A step: its text, its tool calls and its usage."""

    number: int
    began: float
    closing: str = ""
    ended: float | None = None
    tries: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    said: list[Text | Reasoning] = field(default_factory=list)
    calls: list[CallRow] = field(default_factory=list)
    patches: dict[str, Patch] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass
class TurnView:
    """The data of one turn for the report."""

    start: TurnStart
    prompts: list[Prompt] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    used: list[Spent] = field(default_factory=list)
    """Usage after each change."""
    notes: list[tuple[float, str]] = field(default_factory=list)
    sentinel: str = ""
    finish: TurnFinish | None = None
    answer: str = ""
    limits: Limits = UNLIMITED
    seconds: float = 0.0


def gathered(entries: Sequence[Entry], below: Mapping[str, Sequence[Entry]]) -> list[TurnView]:
    """Return the turns of a session that were not undone; `below` has the entries of subagents, by session."""
    turns: list[TurnView] = []
    session = Session()
    calls: dict[str, CallRow] = {}
    for entry in visible(entries):
        fold(session, entry)
        for event in entry.events:
            if isinstance(event, PartPut) and isinstance(event.part, TurnStart):
                turns.append(TurnView(event.part))
                calls = {}
            elif turns and session.turn is not None:
                _take(turns[-1], session, calls, entry, event)
        if turns and session.turn is not None:
            _count(turns[-1], session.turn, entry.elapsed)
    for turn in turns:
        _finish(turn, session, below)
    return turns


def _count(view: TurnView, turn: OpenTurn, at: float) -> None:
    used = spent_by(turn, at)
    if not view.used or view.used[-1] != used:
        view.used.append(used)
    view.limits = turn.limits
    view.seconds = max(view.seconds, at)


def _take(view: TurnView, session: Session, calls: dict[str, CallRow], entry: Entry, event: Recorded) -> None:
    if isinstance(event, PartPut):
        _take_part(view, session, calls, entry.elapsed, event)
    elif isinstance(event, CallMoved) and event.id in calls:
        call = calls[event.id]
        if isinstance(event.state, (Running, Waiting)) and call.began is None:
            call.began = entry.elapsed
        if isinstance(event.state, Waiting):
            call.child = event.state.child
        if isinstance(event.state, Ended):
            call.ended = entry.elapsed
        call.call = session.call(event.id)
    elif isinstance(event, RequestMoved) and view.steps:
        request = session.parts.get(event.id)
        if isinstance(event.state, Open):
            view.steps[-1].tries += 1
        elif (
            isinstance(event.state, Replied) and isinstance(request, Request) and request.purpose in ("step", "closing")
        ):
            view.steps[-1].usage, view.steps[-1].cost = event.state.usage, event.state.cost


def _take_part(view: TurnView, session: Session, calls: dict[str, CallRow], at: float, event: PartPut) -> None:
    part = event.part
    match part:
        case Prompt():
            view.prompts.append(part)
        case StepStart(number=number, closing=closing):
            view.steps.append(StepRow(number, at, closing or ""))
        case StepFinish():
            step = view.steps[-1]
            step.ended = at
            for id in session.turn.reply if session.turn is not None else ():
                said = session.parts.get(id)
                if isinstance(said, (Text, Reasoning)):
                    step.said.append(said)
                elif isinstance(said, Call):
                    calls[id] = CallRow(said)
                    step.calls.append(calls[id])
        case Patch():
            if view.steps:
                view.steps[-1].patches[part.id] = part
        case Notice(text=text, about=about):
            if about != "closing":
                view.notes.append((at, text))
        case Compaction(before=before, after=after, outcome="smaller", cause=cause):
            what = "old outputs were removed" if cause == "prune" else f"context compacted: {before} → {after} tokens"
            view.notes.append((at, what))
        case Extension(limit=limit, by=by):
            view.notes.append((at, f"{limit} extended by {by:g}"))
        case Sentinel(text=text):
            view.sentinel = text
        case TurnFinish():
            view.finish = part
        case _:
            return


def _finish(view: TurnView, session: Session, below: Mapping[str, Sequence[Entry]]) -> None:
    """Fill in the answer and the subagents' turns of each call, which need the complete session."""
    words = [session.parts.get(id) for id in view.finish.answer] if view.finish is not None else []
    view.answer = "\n\n".join(part.text for part in words if isinstance(part, Text))
    for step in view.steps:
        for call in step.calls:
            if call.child in below:
                turns = gathered(below[call.child], below)
                call.below = [turn for turn in turns if (by := turn.start.delegation) and by.call == call.call.id]
