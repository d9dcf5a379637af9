"""Collects the data of a report from a session's entries: turns, steps and tool calls with their times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bridle.core import parts
from bridle.core.events import CallMoved, Entry, PartPut, Recorded, RequestMoved
from bridle.core.fold import fold
from bridle.core.limits import UNLIMITED, Limits, Spent
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Ended, Open, Replied, Running, Usage, Waiting
from bridle.core.undo import visible


@dataclass
class CallRow:
    """A tool call with its start and end in active seconds of its turn; None if it never ran."""

    call: parts.Call
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
    said: list[parts.Text | parts.Reasoning] = field(default_factory=list)
    calls: list[CallRow] = field(default_factory=list)
    patches: dict[str, parts.Patch] = field(default_factory=dict)


@dataclass
class TurnView:
    """The data of one turn for the report."""

    start: parts.TurnStart
    prompts: list[parts.Prompt] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    calls: dict[str, CallRow] = field(default_factory=dict)
    used: list[Spent] = field(default_factory=list)
    """Usage after each change."""
    notes: list[tuple[float, str]] = field(default_factory=list)
    sentinel: str = ""
    finish: parts.TurnFinish | None = None
    answer: str = ""
    limits: Limits = UNLIMITED
    seconds: float = 0.0


def gathered(entries: Sequence[Entry], below: Mapping[str, Sequence[Entry]]) -> list[TurnView]:
    """Return the turns of a session that were not undone; `below` has the entries of subagents, by session."""
    turns: list[TurnView] = []
    session = Session()
    for entry in visible(entries):
        fold(session, entry)
        for event in entry.events:
            if isinstance(event, PartPut) and isinstance(event.part, parts.TurnStart):
                turns.append(TurnView(event.part))
            elif turns and session.turn is not None:
                _take(turns[-1], session, entry.elapsed, event)
        if turns and session.turn is not None:
            _count(turns[-1], session.turn, entry.elapsed)
    for turn in turns:
        _finish(turn, session, below)
    return turns


def _count(view: TurnView, turn: OpenTurn, at: float) -> None:
    used = turn.spent(at)
    if not view.used or view.used[-1] != used:
        view.used.append(used)
    view.limits = turn.limits
    view.seconds = max(view.seconds, at)


def _take(view: TurnView, session: Session, at: float, event: Recorded) -> None:
    match event:
        case PartPut(part):
            _take_part(view, session, at, part)
        case CallMoved(id, state) if id in view.calls:
            row = view.calls[id]
            row.call = session.call(id)
            row.child = state.child if isinstance(state, Waiting) else row.child
            if isinstance(state, (Running, Waiting)) and row.began is None:
                row.began = at
            if isinstance(state, Ended):
                row.ended = at
        case RequestMoved(state=Open()) if view.steps:
            view.steps[-1].tries += 1
        case RequestMoved(id, Replied() as reply) if view.steps:
            request = session.parts.get(id)
            if isinstance(request, parts.Request) and request.purpose in ("step", "closing"):
                view.steps[-1].usage, view.steps[-1].cost = reply.usage, reply.cost


def _take_part(view: TurnView, session: Session, at: float, part: parts.Part) -> None:
    match part:
        case parts.Prompt():
            view.prompts.append(part)
        case parts.StepStart(number=number, closing=closing):
            view.steps.append(StepRow(number, at, closing or ""))
        case parts.StepFinish() if session.turn is not None:
            step = view.steps[-1]
            step.ended = at
            for said in map(session.parts.get, session.turn.reply):
                if isinstance(said, (parts.Text, parts.Reasoning)):
                    step.said.append(said)
                elif isinstance(said, parts.Call):
                    view.calls[said.id] = CallRow(said)
                    step.calls.append(view.calls[said.id])
        case parts.Patch() if view.steps:
            view.steps[-1].patches[part.id] = part
        case parts.Notice(text=text, about=about) if about != "closing":
            view.notes.append((at, text))
        case parts.Compaction(before=before, after=after, outcome="smaller", cause=cause):
            what = "old outputs were removed" if cause == "prune" else f"context compacted: {before} → {after} tokens"
            view.notes.append((at, what))
        case parts.Extension(limit=limit, by=by):
            view.notes.append((at, f"{limit} extended by {by:g}"))
        case parts.Sentinel(text=text):
            view.sentinel = text
        case parts.TurnFinish():
            view.finish = part


def _finish(view: TurnView, session: Session, below: Mapping[str, Sequence[Entry]]) -> None:
    """Fill in the answer and the subagents' turns of each call, which need the complete session."""
    words = [session.parts.get(id) for id in view.finish.answer] if view.finish is not None else []
    view.answer = "\n\n".join(part.text for part in words if isinstance(part, parts.Text))
    for id, call in view.calls.items():
        if call.child in below:
            turns = gathered(below[call.child], below)
            call.below = [turn for turn in turns if (by := turn.start.delegation) and by.call == id]
