"""A turn read by scanning everything that was recorded: slow, plain, and written without the fold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from bridle.core.events import CallMoved, Entry, PartPut, RequestMoved
from bridle.core.limits import Spent
from bridle.core.parts import (
    Call,
    Compaction,
    Extension,
    Halt,
    Handoff,
    Notice,
    Part,
    Prompt,
    Request,
    ReservationRefused,
    StepFinish,
    StepStart,
    Text,
    TurnStart,
)
from bridle.core.states import (
    Approved,
    Asking,
    Broken,
    Cut,
    Done,
    Interrupted,
    Open,
    Pending,
    Queued,
    Refused,
    Repeat,
    Replied,
    Waiting,
)
from bridle.core.turn import SideRequest, Step, Turn
from support.limit_rows import EXPECTED
from support.oracle_events import ERRANDS, History, died, fell_back, has_result, is_part, models_asked, told


def read_turn(entries: Sequence[Entry], crowded: bool = False) -> Turn:
    """The view of the last turn, from its own events alone; how full the context is must be told."""
    history: History = [(entry, event) for entry in entries for event in entry.events]
    start_at = max(i for i, (_, event) in enumerate(history) if is_part(event, TurnStart))
    start = history[start_at][1].part
    turn = history[start_at + 1 :]
    puts = [event.part for _, event in turn if isinstance(event, PartPut)]
    states = call_states(turn)
    limits = replace(start.limits, steps=start.cap)
    for part in puts:
        if isinstance(part, Extension):
            limits = limits.raised(part.limit, part.by)
        elif isinstance(part, Handoff):
            limits = limits.at_most(part.limits)
    refusals, warned = standing(puts)
    return Turn(
        start.number,
        limits,
        spent(turn, entries[-1].elapsed),
        last_step(turn),
        tuple(id for id, state in states.items() if isinstance(state, (Pending, Approved, Repeat))),
        tuple(id for id, state in states.items() if isinstance(state, Asking)),
        prompted(turn, start.number),
        next((part for part in puts if isinstance(part, Halt)), None),
        refusals[0] if refusals else None,
        any(part.closing for part in refusals),
        doomed(turn),
        frozenset(warned),
        tuple(id for id, state in states.items() if awaited(state) and not state.recalled),
        tuple(id for id, state in states.items() if awaited(state) and state.recalled)
        + tuple(id for id, state in background(turn).items() if state.recalled),
        tuple(id for id, state in states.items() if isinstance(state, Queued)),
        places(turn),
        synthesis(turn),
        last_errand(turn),
        compactions(start, turn),
        *output(start, turn),
        crowded or overflowed(turn) or wanted(turn),
        tuple(id for id, state in background(turn).items() if not state.recalled),
    )


def awaited(state: Any) -> bool:
    return isinstance(state, Waiting) and not state.told


def background(turn: History) -> dict[str, Waiting]:
    """The calls whose subagents were started in the background and have not reported."""
    found = {}
    for _, event in turn:
        if isinstance(event, CallMoved):
            if isinstance(event.state, Waiting) and event.state.told:
                found[event.id] = event.state
            else:
                found.pop(event.id, None)
    return found


def output(start: TurnStart, turn: History) -> tuple[Any, int]:
    """Whether an answer must fit a schema, and whether the last step gave one; and how often it was reminded."""
    states: dict[str, Any] = {}
    finished = kept = False
    reports = told(turn)
    for _, event in turn:
        if event in reports:
            kept = kept or (finished and any(isinstance(state, Done) and state.answers for state in states.values()))
        elif is_part(event, StepStart):
            states, finished = {}, False
        elif is_part(event, Call):
            states[event.part.id] = event.part.state
        elif isinstance(event, CallMoved):
            states[event.id] = event.state
        elif is_part(event, StepFinish):
            finished = True
    ended = finished and all(has_result(state) for state in states.values())
    given = ended and any(isinstance(state, Done) and state.answers for state in states.values())
    reminded = sum(is_part(event, Notice) and event.part.about == "output" for _, event in turn)
    if given:
        return "given", reminded
    if start.output is None or kept:
        return "", reminded
    return "missed" if misfits(turn) >= 5 else "wanted", reminded


def places(turn: History) -> bool:
    """Whether a subagent has ended since a call was last started as one, or sent to wait."""
    free, begun = False, set()
    for _, event in turn:
        if isinstance(event, CallMoved):
            if isinstance(event.state, Waiting) and event.id not in begun:
                begun.add(event.id)
                free = False
            elif isinstance(event.state, Queued):
                free = False
            elif getattr(event.state, "report", None) is not None:
                free = True
    return free


def side_requests(turn: History) -> Iterator[tuple[Entry, Any, Any]]:
    """Everything that happened to requests beside the steps, with the purpose of each."""
    purposes = {event.part.id: event.part.purpose for _, event in turn if is_part(event, Request)}
    for entry, event in turn:
        if is_part(event, Request) and event.part.purpose in ("compaction", "synthesis"):
            yield entry, event, event.part.purpose
        elif isinstance(event, RequestMoved) and purposes[event.id] in ("compaction", "synthesis"):
            yield entry, event, purposes[event.id]
        elif is_part(event, StepStart) or (
            is_part(event, Compaction) and event.part.cause != "prune" and event.part.outcome != "open"
        ):
            yield entry, event, ""


def last_errand(turn: History) -> Any:
    found: Any = None
    for entry, event, purpose in side_requests(turn):
        if not purpose:
            found = None
        elif is_part(event, Request):
            if found is None or found.purpose != purpose:
                found = SideRequest(purpose, began=entry.elapsed)
            found = replace(found, state="open", requests=found.requests + 1)
        elif isinstance(event.state, Open):
            found = replace(found, tries=found.tries + 1)
        elif isinstance(event.state, Replied):
            found = replace(found, state="finished", blanks=found.blanks + 1)
        elif isinstance(event.state, Interrupted):
            found = replace(found, state="interrupted", deaths=found.deaths + (not event.state.handed_over))
        elif fell_back(event.state):
            found = replace(found, state="interrupted", tries=0)
        else:
            found = replace(found, state="failed")
    return found


def synthesis(turn: History) -> Any:
    state = ""
    marked: dict[str, bool] = {}
    for _, event in turn:
        if is_part(event, StepStart):
            state, marked = "", {}
        elif is_part(event, Call):
            marked[event.part.id] = isinstance(event.part.state, Done) and event.part.state.synthesize
        elif isinstance(event, CallMoved) and event.id in marked:
            marked[event.id] = isinstance(event.state, Done) and event.state.synthesize
            if marked and all(marked.values()):
                state = "due"
        elif is_part(event, Text) and state == "due":
            state = "done"
        elif isinstance(event, RequestMoved) and ".s" in event.id and isinstance(event.state, (Cut, Broken)):
            state = state if fell_back(event.state) else "failed"
    return state


def compactions(start: TurnStart, turn: History) -> int:
    """Since the last whole reply of a step that left the context small enough."""
    count = 0
    limit = {start.model: start.compact_at} | {each.model: each.compact_at for each in start.fallbacks}
    model_of = models_asked(turn)
    replied = {
        event.id
        for _, event in turn
        if isinstance(event, RequestMoved)
        and isinstance(event.state, Replied)
        and not 0 < limit.get(model_of[event.id], 0) < event.state.usage.total
    }
    for _, event in turn:
        if is_part(event, StepFinish) and event.part.id.removesuffix(".finish") in replied:
            count = 0
        elif is_part(event, Compaction) and event.part.cause != "prune" and event.part.outcome != "open":
            count += 1
    return count


def overflowed(turn: History) -> bool:
    now = False
    for _, event in turn:
        if isinstance(event, RequestMoved) and ".c" not in event.id and getattr(event.state, "overflow", False):
            now = True
        elif is_part(event, Compaction) and event.part.outcome == "smaller":
            now = False
    return now


def wanted(turn: History) -> bool:
    now = False
    for _, event in turn:
        if is_part(event, Compaction) and event.part.cause != "prune":
            now = event.part.outcome == "open"
    return now


def standing(puts: Sequence[Part]) -> tuple[list[ReservationRefused], set[Any]]:
    """Refusals and warnings that no later extension or handoff has lifted."""
    refusals, warned = [], set()
    for part in puts:
        if isinstance(part, ReservationRefused):
            refusals.append(part)
        elif isinstance(part, Notice) and part.limit is not None:
            warned.add(part.limit)
        elif isinstance(part, Handoff):
            warned -= part.limits.given.keys()
        elif isinstance(part, Extension):
            warned.discard(part.limit)
            if refusals and refusals[0].limit == part.limit:
                refusals = []
    return refusals, warned


def call_states(turn: History) -> dict[str, Any]:
    """The calls of the last batch in their order, while one of them has not ended."""
    ended = [i for i, (_, event) in enumerate(turn) if is_part(event, StepFinish)]
    if not ended:
        return {}
    requests = [
        i
        for i, (_, event) in enumerate(turn[: ended[-1]])
        if is_part(event, Request) and event.part.purpose not in ERRANDS
    ]
    batch = {event.part.id: event.part.state for _, event in turn[requests[-1] : ended[-1]] if is_part(event, Call)}
    for _, event in turn[ended[-1] :]:
        if isinstance(event, CallMoved) and event.id in batch and not getattr(batch[event.id], "told", ""):
            batch[event.id] = event.state
    if all(has_result(state) for state in batch.values()):
        return {}
    return batch


def spent(turn: History, elapsed: float) -> Spent:
    return Spent(**{name: row.counts(turn, elapsed) for name, row in EXPECTED.items()})


def last_step(turn: History) -> Step | None:
    starts = [i for i, (_, event) in enumerate(turn) if is_part(event, StepStart)]
    if not starts:
        return None
    entry, event = turn[starts[-1]]
    beside = {event.part.id for _, event in turn if is_part(event, Request) and event.part.purpose in ERRANDS}
    after = [
        event
        for _, event in turn[starts[-1] + 1 :]
        if not (is_part(event, Request) and event.part.id in beside)
        and not (isinstance(event, RequestMoved) and event.id in beside)
    ]
    requests = [event.part for event in after if is_part(event, Request)]
    moves = [event.state for event in after if isinstance(event, RequestMoved)]
    finishes = [event.part for event in after if is_part(event, StepFinish)]
    empties = 0
    for finish in finishes:
        empties = empties + 1 if finish.empty else 0
    state: Any = "open"
    for event in after:
        if is_part(event, Request):
            state = "open"
        elif is_part(event, StepFinish):
            state = "finished"
        elif isinstance(event, RequestMoved) and died(event.state):
            state = "interrupted"
        elif isinstance(event, RequestMoved) and not isinstance(event.state, (Open, Replied, Cut)):
            state = "failed"
    cuts = [state.by for state in moves if isinstance(state, Cut)]
    return Step(
        turn[starts[-1]][1].part.number,
        turn[starts[-1]][1].part.closing,
        state,
        len(requests),
        sum(isinstance(state, Interrupted) and not state.handed_over for state in moves),
        empties,
        finishes[-1].calls if finishes else 0,
        cuts[-1] if cuts else "",
        sum(isinstance(state, Open) for state in takewhile(lambda state: not fell_back(state), reversed(moves))),
        entry.elapsed,
    )


def prompted(turn: History, number: int) -> bool:
    since, reports = False, told(turn)
    for _, event in turn:
        if is_part(event, Request) and event.part.purpose not in ERRANDS:
            since = False
        elif (is_part(event, Prompt) and event.part.turn == number) or event in reports:
            since = True
    return since


def doomed(turn: History) -> bool:
    for _, event in turn:
        state = getattr(event, "state", None)
        if isinstance(state, Refused) and state.refusal.name == "doom_loop":
            return True
        if isinstance(state, Cut) and state.by == "chant" and not re.search(r"\.[cs]\d", event.id):
            return True
    return False


def misfits(turn: History) -> int:
    """Answers that did not fit, of steps whose calls have all ended."""
    found = waiting = 0
    states: dict[str, Any] = {}
    for _, event in turn:
        if is_part(event, StepStart):
            states, waiting = {}, 0
        elif is_part(event, Call):
            states[event.part.id] = event.part.state
            is_misfit = isinstance(event.part.state, Refused) and event.part.state.refusal.name == "invalid"
            waiting += event.part.name == "structured_output" and is_misfit
        elif isinstance(event, CallMoved) and event.id in states:
            states[event.id] = event.state
        closes = is_part(event, StepFinish) or isinstance(event, CallMoved)
        if closes and all(has_result(each) for each in states.values()):
            found, waiting = found + waiting, 0
    return found
