"""`SpanMaker`: turns the recorded entries of one session into finished spans of turns, steps, requests and calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from bridle.core.events import CallMoved, Entry, PartGrown, PartPut, PartRemoved, RequestMoved
from bridle.core.ids import is_below
from bridle.core.parts import Call, Handoff, Prompt, Request, StepStart, Text, TurnFinish, TurnStart
from bridle.core.states import Done, Failed, Open, Refused, Replied, Running, Try, Usage, Waiting
from bridle.telemetry import attributes
from bridle.telemetry.attributes import Attributes
from bridle.telemetry.span_ids import span_id, trace_id
from bridle.values.traceparent import TracePlace, read_traceparent, traceparent_in

Kind = Literal["agent", "step", "request", "call"]
FAILURES = ("error", "empty", "context_full")
"""Endings of a turn that count as errors: a limit, an abort or a denial is an ordinary ending."""


class SpanMoment(NamedTuple):
    """Something that happened during a span."""

    name: str
    at: float
    attributes: Attributes


class FinishedSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A finished span; times in seconds since 1970. `parent` is 0 for the root of a trace."""

    kind: Kind
    name: str
    trace: int
    id: int
    parent: int
    sampled: bool | None
    """What the caller of the turn decided; None if no caller did."""
    start: float
    end: float
    attributes: Attributes
    moments: tuple[SpanMoment, ...] = ()
    error: str = ""
    usage: Usage | None = None
    """Tokens of a request; None if they are not known."""
    cost: float = 0.0


class _Opened(msgspec.Struct):
    """The part of an open span, its parent, and when it began."""

    part: TurnStart | StepStart | Request | Call
    id: int
    parent: int
    at: float
    last: float = 0.0
    moments: tuple[SpanMoment, ...] = ()


class SpanMaker:
    """The open spans of one session. Entries must come in order; those before the open turn may be left out."""

    def __init__(self, session: str, *, with_content: bool) -> None:
        self.session = session
        self._with_content = with_content
        self._trace = 0
        self._sampled: bool | None = None
        self._agent = self._model = ""
        self._turn: _Opened | None = None
        self._step: _Opened | None = None
        self._open: dict[str, _Opened] = {}
        """Requests and calls by their ids."""
        self._prompts: list[str] = []
        self._texts: dict[str, str] = {}

    def resume(self, before: Sequence[Entry]) -> list[FinishedSpan]:
        """Take earlier entries; return the spans of the open turn that have ended: their process may have lost them."""
        ended: list[FinishedSpan] = []
        for entry in before:
            ended += self.spans(entry)
            if self._turn is None:
                ended.clear()
        return ended

    def spans(self, entry: Entry) -> Iterator[FinishedSpan]:
        """Take an entry, and yield the spans that end with it."""
        for event in entry.events:
            self._read(event)
            match event:
                case PartPut(part=Request() | Call() as part):
                    self._open[part.id] = self._opened(part, self._above(part), entry.at)
                    if isinstance(part, Call):
                        yield from self._call_moved(part, entry.at)
                case RequestMoved(id=id, state=state) if id in self._open:
                    yield from self._request_moved(id, state, entry.at)
                case CallMoved(id=id, state=state, changed=changed) if id in self._open:
                    call = self._open[id].part
                    assert isinstance(call, Call)
                    moved = msgspec.structs.replace(call, state=state, changed=changed or call.changed)
                    yield from self._call_moved(moved, entry.at)
                case PartPut(part=StepStart() as step):
                    yield from self._end_step()
                    self._step = self._opened(step, self._turn.id if self._turn is not None else 0, entry.at)
                case PartPut(part=TurnStart() as start):
                    self._begin(start, entry.at)
                case PartPut(part=Prompt() as prompt) if prompt.turn:
                    self._prompted(prompt)
                case PartPut(part=Handoff(agent=agent, model=model)):
                    self._agent, self._model = agent, model
                case PartPut(part=TurnFinish() as finish):
                    yield from self._finish(finish, entry.at)

    @property
    def is_open(self) -> bool:
        """Whether a turn is open."""
        return self._turn is not None

    def place_of(self, request: str) -> TracePlace | None:
        """Return the span of an open request; None for one that is not known."""
        opened = self._open.get(request)
        return TracePlace(self._trace, opened.id, self._sampled is not False) if opened is not None else None

    def _opened(self, part: TurnStart | StepStart | Request | Call, parent: int, at: float) -> _Opened:
        return _Opened(part, span_id(self.session, part.id), parent, at)

    def _above(self, part: Request | Call) -> int:
        beside = isinstance(part, Request) and part.purpose not in ("step", "closing")
        above = self._turn if beside or self._step is None else self._step
        return above.id if above is not None else 0

    def _read(self, event: object) -> None:
        """Keep the texts of the turn, if they are wanted."""
        match event:
            case PartPut(part=Text(id=id, text=text)) if self._with_content:
                self._texts[id] = text
            case PartGrown(id=id, text=text) if id in self._texts:
                self._texts[id] += text
            case PartRemoved(id=id):
                self._texts.pop(id, None)

    def _begin(self, start: TurnStart, at: float) -> None:
        above = start.delegation
        self._agent, self._model = start.agent, start.model
        self._turn = self._opened(start, span_id(above.parent, above.call) if above is not None else 0, at)
        self._trace, self._sampled = trace_id(start), None
        if above is not None:
            self._called_from(above.traceparent)
        self._step = None
        self._open.clear()
        self._prompts.clear()
        self._texts.clear()

    def _prompted(self, prompt: Prompt) -> None:
        first = not self._prompts
        self._prompts.append(prompt.text if self._with_content else "")
        if first and self._turn is not None and isinstance(self._turn.part, TurnStart):
            place = self._called_from(traceparent_in(prompt.metadata)) if self._turn.part.delegation is None else None
            self._turn.parent = place.span if place is not None else self._turn.parent

    def _called_from(self, traceparent: str) -> TracePlace | None:
        """Make the turn part of the trace of another program, if one started it."""
        place = read_traceparent(traceparent)
        if place is not None:
            self._trace, self._sampled = place.trace, place.sampled
        return place

    def _request_moved(self, id: str, state: object, at: float) -> Iterator[FinishedSpan]:
        opened = self._open[id]
        request = opened.part
        assert isinstance(request, Request)
        if isinstance(state, Open):
            opened.moments += tuple(_retry(each, at) for each in state.tries[len(opened.moments) :])
            return
        opened.part = request = msgspec.structs.replace(request, state=state)
        found = attributes.request_attributes(request, self.session)
        if self._with_content:
            written = [text for part, text in self._texts.items() if is_below(part, id)]
            found |= attributes.message_content("output", ["".join(written)])
        error = "" if isinstance(state, Replied) else type(state).__name__.lower()
        name = found["gen_ai.request.model"]
        span = self._end(self._open.pop(id), "request", f"chat {name}", at, found=found, error=error)
        usage, cost = getattr(state, "usage", None), getattr(state, "cost", 0.0)
        yield msgspec.structs.replace(span, usage=usage, cost=cost)

    def _call_moved(self, call: Call, at: float) -> Iterator[FinishedSpan]:
        opened = self._open[call.id]
        opened.part = call
        if isinstance(call.state, (Running, Waiting)) and not opened.last:
            # The time before was a person's.
            opened.at = opened.last = at
        if not isinstance(call.state, (Done, Failed, Refused)):
            return
        found = attributes.call_attributes(call, self.session)
        if self._with_content:
            found |= attributes.call_content(call)
        error = attributes.call_error(call)
        yield self._end(self._open.pop(call.id), "call", f"execute_tool {call.name}", at, found=found, error=error)

    def _end_step(self) -> Iterator[FinishedSpan]:
        if self._step is None:
            return
        opened, self._step = self._step, None
        step = opened.part
        assert isinstance(step, StepStart)
        found: Attributes = {"bridle.step": step.number, "bridle.step.cap": step.cap}
        if step.closing is not None:
            found["bridle.closing"] = step.closing
        yield self._end(opened, "step", f"step {step.number}", max(opened.at, opened.last), found=found)

    def _finish(self, finish: TurnFinish, at: float) -> Iterator[FinishedSpan]:
        yield from self._end_step()
        opened, self._turn = self._turn, None
        if opened is None:
            return
        assert isinstance(opened.part, TurnStart)
        found = attributes.agent_attributes(self._agent, self._model, self.session, opened.part)
        found |= attributes.turn_attributes(finish)
        if self._with_content:
            answer = "".join(self._texts.get(id, "") for id in finish.answer)
            found |= attributes.message_content("input", self._prompts)
            found |= attributes.message_content("output", [answer])
        error = finish.reason if finish.reason in FAILURES else ""
        yield self._end(opened, "agent", f"invoke_agent {self._agent}", at, found=found, error=error)

    def _end(
        self, opened: _Opened, kind: Kind, name: str, at: float, *, found: Attributes, error: str = ""
    ) -> FinishedSpan:
        if self._step is not None:
            self._step.last = at
        if error:
            found["error.type"] = error
        return FinishedSpan(
            kind=kind,
            name=name,
            trace=self._trace,
            id=opened.id,
            parent=opened.parent,
            sampled=self._sampled,
            start=opened.at,
            end=at,
            attributes=found,
            moments=opened.moments,
            error=error,
        )


def _retry(tried: Try, at: float) -> SpanMoment:
    known: Attributes = {"http.response.status_code": tried.status} if tried.status is not None else {}
    return SpanMoment("retry", at, known)
