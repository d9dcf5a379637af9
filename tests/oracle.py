"""A turn read by scanning everything that was recorded: slow, plain, and written without the fold."""

from __future__ import annotations

from bridle.core.events import CallMoved, PartPut, RequestMoved
from bridle.core.limits import Spent
from bridle.core.parts import (
    Approved,
    Asking,
    Call,
    Cut,
    Done,
    Extension,
    Failed,
    Halt,
    Interrupted,
    Notice,
    Open,
    Pending,
    Prompt,
    Refused,
    Repeat,
    Replied,
    Request,
    ReservationRefused,
    Running,
    StepFinish,
    StepStart,
    TurnStart,
)
from bridle.core.turn import Step, Turn


def read_turn(entries):
    """The view of the last turn, from its own events alone."""
    history = [(entry, event) for entry in entries for event in entry.events]
    start_at = max(i for i, (_, event) in enumerate(history) if is_part(event, TurnStart))
    start = history[start_at][1].part
    turn = history[start_at + 1 :]
    puts = [event.part for _, event in turn if isinstance(event, PartPut)]
    states = call_states(turn)
    limits, cap = start.limits, start.cap
    for part in puts:
        if isinstance(part, Extension):
            if part.limit == "steps":
                cap += int(part.by)
            else:
                limits = limits.raised(part.limit, part.by)
    refusals, warned = standing(puts)
    return Turn(
        start.number,
        cap,
        limits,
        spent(turn, puts, entries[-1].elapsed),
        last_step(turn),
        tuple(id for id, state in states.items() if isinstance(state, (Pending, Approved, Repeat))),
        tuple(id for id, state in states.items() if isinstance(state, Asking)),
        prompted(turn, start.number),
        next((part for part in puts if isinstance(part, Halt)), None),
        refusals[0] if refusals else None,
        any(part.closing for part in refusals),
        doomed(turn),
        frozenset(warned),
    )


def standing(puts):
    """Refusals and warnings that no later extension has lifted."""
    refusals, warned = [], set()
    for part in puts:
        if isinstance(part, ReservationRefused):
            refusals.append(part)
        elif isinstance(part, Notice) and part.limit is not None:
            warned.add(part.limit)
        elif isinstance(part, Extension):
            warned.discard(part.limit)
            if refusals and refusals[0].limit == part.limit:
                refusals = []
    return refusals, warned


def is_part(event, kind):
    return isinstance(event, PartPut) and isinstance(event.part, kind)


def call_states(turn):
    """The calls of the last batch in their order, while one of them has not ended."""
    ended = [i for i, (_, event) in enumerate(turn) if is_part(event, StepFinish)]
    if not ended:
        return {}
    requests = [i for i, (_, event) in enumerate(turn[: ended[-1]]) if is_part(event, Request)]
    batch = {event.part.id: event.part.state for _, event in turn[requests[-1] : ended[-1]] if is_part(event, Call)}
    for _, event in turn[ended[-1] :]:
        if isinstance(event, CallMoved):
            batch[event.id] = event.state
    if all(isinstance(state, (Done, Failed, Refused)) for state in batch.values()):
        return {}
    return batch


def spent(turn, puts, elapsed):
    steps = sum(isinstance(part, StepStart) for part in puts)
    started, repeated, tokens, cost = 0, set(), 0, 0.0
    for _, event in turn:
        if isinstance(event, CallMoved):
            if isinstance(event.state, Repeat):
                repeated.add(event.id)
            elif isinstance(event.state, Running):
                started += event.id not in repeated
        elif isinstance(event, RequestMoved):
            state = event.state
            if isinstance(state, Open):
                tokens += state.tries[-1].usage.total
                cost += state.tries[-1].cost
            elif isinstance(state, Interrupted):
                tokens += state.tokens
                cost += state.cost
            else:
                tokens += state.usage.total
                cost += state.cost
    return Spent(steps, started, tokens, cost, elapsed)


def last_step(turn):
    starts = [i for i, (_, event) in enumerate(turn) if is_part(event, StepStart)]
    if not starts:
        return None
    entry, event = turn[starts[-1]]
    after = [event for _, event in turn[starts[-1] + 1 :]]
    requests = [event.part for event in after if is_part(event, Request)]
    moves = [event.state for event in after if isinstance(event, RequestMoved)]
    finishes = [event.part for event in after if is_part(event, StepFinish)]
    empties = 0
    for finish in finishes:
        empties = empties + 1 if finish.empty else 0
    state = "open"
    for event in after:
        if is_part(event, Request):
            state = "open"
        elif is_part(event, StepFinish):
            state = "finished"
        elif isinstance(event, RequestMoved) and isinstance(event.state, Interrupted):
            state = "interrupted"
        elif isinstance(event, RequestMoved) and not isinstance(event.state, (Open, Replied, Cut)):
            state = "failed"
    cuts = [state.by for state in moves if isinstance(state, Cut)]
    return Step(
        turn[starts[-1]][1].part.number,
        turn[starts[-1]][1].part.closing,
        state,
        len(requests),
        sum(isinstance(state, Interrupted) for state in moves),
        empties,
        finishes[-1].calls if finishes else 0,
        cuts[-1] if cuts else "",
        sum(isinstance(state, Open) for state in moves),
        entry.elapsed,
    )


def prompted(turn, number):
    since = False
    for _, event in turn:
        if is_part(event, StepStart):
            since = False
        elif is_part(event, Prompt) and event.part.turn == number:
            since = True
    return since


def doomed(turn):
    for _, event in turn:
        state = getattr(event, "state", None)
        if isinstance(state, Refused) and state.refusal.name == "doom_loop":
            return True
        if isinstance(state, Cut) and state.by == "chant":
            return True
    return False
