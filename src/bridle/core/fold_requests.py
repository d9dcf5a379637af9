"""The part of `fold` for model requests: state changes, usage, retries, fallbacks, and the reply that ends a step."""

from __future__ import annotations

from msgspec.structs import replace

from bridle.core.events import RequestMoved
from bridle.core.fold_calls import close_batch
from bridle.core.messages import AssistantMessage, AssistantText, CallMessage, Thought
from bridle.core.parts import Call, PartOfReply, Reasoning, Request, StepFinish, Text
from bridle.core.session import GivenUp, OpenTurn, Session
from bridle.core.states import Broken, Cut, Interrupted, Open, Replied, RequestState, Usage
from bridle.core.turn import SideRequest
from bridle.core.usage import ModelUse, add_use


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
        turn.side_request = replace(side_request, state="open", requests=side_request.requests + 1)
    else:
        assert turn.step is not None
        # Every prompt so far is part of this request, whether it is the first of its step or a later attempt.
        turn.prompted = False
        turn.step = replace(turn.step, requests=turn.step.requests + 1, state="open")


def move_request(session: Session, event: RequestMoved) -> None:
    """Apply the new state of a request."""
    turn = session.turn
    assert turn is not None
    request = session.parts[event.id]
    assert isinstance(request, Request)
    session.parts[event.id] = moved = replace(request, state=event.state)
    state = event.state
    match state:
        case Open():
            _count(turn, moved.model, state.tries[-1].usage, state.tries[-1].cost)
        case Replied() | Cut() | Broken():
            _count(turn, moved.model, state.usage, state.cost)
        case Interrupted():
            used = turn.used
            turn.used = replace(used, tokens=used.tokens + state.tokens, cost=used.cost + state.cost)
            add_use(turn.models, moved.model, ModelUse(Usage(), state.tokens, state.cost))
    if moved.purpose == "title":
        turn.title = moved
        return
    turn.request = moved
    if isinstance(state, Broken) and state.fallback:
        _fall_back(turn, moved, state, session.elapsed)
    elif moved.purpose in ("compaction", "synthesis"):
        _move_side_request(turn, state)
    else:
        _move_step(turn, state)


def _fall_back(turn: OpenTurn, request: Request, state: Broken, at: float) -> None:
    """Record that the next model is asked from now on; the request is repeated in another attempt."""
    turn.model = state.fallback
    asked = turn.side_request if request.purpose in ("compaction", "synthesis") else turn.step
    assert asked is not None
    turn.given_up = (*turn.given_up, GivenUp(request.model, state.error, asked.tries + 1, at))
    # The next model has retries of its own.
    if isinstance(asked, SideRequest):
        turn.side_request = replace(asked, state="interrupted", tries=0)
    else:
        turn.step = replace(asked, state="interrupted", tries=0)


def _count(turn: OpenTurn, model: str, usage: Usage, cost: float) -> None:
    total = usage.total
    add_use(turn.models, model, ModelUse(usage, total, cost))
    turn.usage = turn.usage.plus(usage)
    turn.used = replace(turn.used, tokens=turn.used.tokens + total, cost=turn.used.cost + cost)


def _move_step(turn: OpenTurn, state: RequestState) -> None:
    step = turn.step
    assert step is not None
    match state:
        case Replied():
            turn.given_up = ()
        case Open():
            turn.step = replace(step, tries=step.tries + 1)
        case Cut():
            turn.step = replace(step, cut=state.by)
            turn.doom = turn.doom or state.by == "chant"
        case Broken():
            turn.overflowed = turn.overflowed or state.overflow
            turn.step = replace(step, state="interrupted" if state.overflow else "failed")
        case Interrupted():
            turn.step = replace(step, state="interrupted", deaths=step.deaths + (not state.handed_over))


def _move_side_request(turn: OpenTurn, state: RequestState) -> None:
    side_request = turn.side_request
    assert side_request is not None
    match state:
        case Open():
            turn.side_request = replace(side_request, tries=side_request.tries + 1)
        case Replied():
            # The sender judges the reply: a usable one is recorded together with its use.
            turn.side_request = replace(side_request, state="finished", blanks=side_request.blanks + 1)
            turn.cut = state.finish == "length" if side_request.purpose == "synthesis" else turn.cut
        case Cut() | Broken():
            turn.side_request = replace(side_request, state="failed")
            turn.synthesis = "failed" if side_request.purpose == "synthesis" else turn.synthesis
        case Interrupted():
            deaths = side_request.deaths + (not state.handed_over)
            turn.side_request = replace(side_request, state="interrupted", deaths=deaths)


def finish_step(session: Session, turn: OpenTurn, finish: StepFinish) -> None:
    """Apply the end of a step's request, whole or cut: its text and its calls are known."""
    assert turn.step is not None
    parts = [session.parts[id] for id in turn.reply]
    turn.batch = {part.id: part.state for part in parts if isinstance(part, Call)}
    turn.words = [part.id for part in parts if isinstance(part, Text) and part.text.strip()]
    turn.cut = finish.cut
    if any(isinstance(part, Call) and part.written for part in parts):
        session.written[turn.model] = session.written.get(turn.model, 0) + 1
    empties = turn.step.empties + 1 if finish.empty else 0
    turn.step = replace(turn.step, state="finished", calls=len(turn.batch), empties=empties)
    if turn.batch or turn.words:
        while parts and isinstance(parts[-1], Reasoning):
            # A thought that led to nothing: providers refuse a reply that ends in one.
            parts.pop()
        blocks = tuple(_block(part) for part in parts if isinstance(part, (Text, Reasoning, Call)))
        session.say(AssistantMessage(finish.id, blocks, turn.model))
    if turn.request is not None and isinstance(turn.request.state, Replied) and turn.request.state.by == "model":
        usage = turn.request.state.usage
        session.count(usage)
        # If the provider still counts too much after a compaction, it gained nothing, despite the estimate.
        full = 0 < turn.compact_at < usage.total
        turn.compactions = turn.compactions if full else 0
    close_batch(session, turn)


def _block(part: PartOfReply) -> AssistantText | Thought | CallMessage:
    match part:
        case Text():
            return AssistantText(part.text)
        case Reasoning():
            return Thought(part.text, part.seal)
        case Call():
            return CallMessage(part.id, part.name, part.arguments, part.seal)
