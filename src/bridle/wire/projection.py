"""`EventStream`: derives a session's public events from its recorded entries and live deltas; it does no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from bridle.core import events as record, parts, states
from bridle.core.events import Entry, PartDelta
from bridle.core.fold import fold
from bridle.core.history import parts_of
from bridle.core.ids import is_below
from bridle.core.live import is_awaited
from bridle.core.result import answers
from bridle.core.session import Session
from bridle.core.status import Status, status_of
from bridle.wire import events as public

WORDS = (parts.Text, parts.Reasoning)


class EventStream:
    """The events of one session, in order.

    `session` is the state that the follower knows; entries are folded into it in place. With `prompt`, only the turn
    that answers this prompt is shown. Known entries give no events. Deltas that belong to nothing open, or repeat
    earlier ones, give none either.
    """

    def __init__(self, id: str, session: Session | None = None, prompt: str = "") -> None:
        self.id = id
        self.session = session if session is not None else Session()
        self.prompt = prompt
        self._title = self.session.info.title if self.session.info is not None else ""
        self._status: Status | None = None
        self._started: set[str] = set()
        """Calls whose subagents were already announced."""
        self._asks: dict[str, dict[str, states.Ask]] = {}
        """Open asks already shown, by call."""
        self._shown: dict[str, int] = {}
        """Number of characters shown of a part, while that may exceed the record."""

    @classmethod
    def resumed(cls, id: str, session: Session) -> EventStream:
        """Return a stream for a follower that has seen everything up to this session's last entry."""
        stream = cls(id, session)
        stream._status = status_of(session, held=True)
        turn = session.running
        if turn is not None:
            stream._started.update(turn.under_way)
            open_calls = {**turn.batch, **turn.background}
            stream._asks = {call: asks for call, state in open_calls.items() if (asks := _asks(state))}
        return stream

    def of_entry(self, entry: Entry) -> list[public.Event]:
        """Apply one journal entry and return its events; the last one carries the sequence number."""
        if entry.sequence <= self.session.sequence:
            return []
        fold(self.session, entry)
        if not self._tells():
            return []
        events = [*self._removed(entry), *(told for event in entry.events for told in self._recorded(event))]
        status = status_of(self.session, held=True)
        if status != self._status:
            self._status = status
            # Unset fields of a status are left out of its event too.
            events.append(public.StatusEvent(self.id, **msgspec.to_builtins(status)))
        if events:
            events[-1] = msgspec.structs.replace(events[-1], sequence=entry.sequence)
        return events

    def of_delta(self, delta: PartDelta) -> list[public.Event]:
        """Take a streamed delta and return the events for its new text."""
        if not self._tells() or not is_awaited(self.session, delta):
            return []
        events: list[public.Event] = []
        known = self._shown.get(delta.part)
        if delta.kind in ("text", "reasoning"):
            part = self.session.parts.get(delta.part)
            known = known if known is not None else len(part.text) if isinstance(part, WORDS) else 0
            if known < delta.offset:
                # A delta was dropped: the record provides the missing text.
                return []
        elif delta.kind == "arguments" and known is None:
            events.append(public.ToolUseEvent(self.id, id=delta.part, tool=delta.call, input=None, state="pending"))
        return [*events, *self._grown(delta, max(known or 0, delta.offset))]

    def asks_of(self, call: parts.Call, state: states.CallState) -> list[public.AskEvent]:
        """Return the open asks of a call and of the subagent that it waits for."""
        return [self._ask(call, ask) for ask in _asks(state).values()]

    def _tells(self) -> bool:
        return not self.prompt or answers(self.session, self.prompt)

    def _grown(self, delta: PartDelta, known: int) -> Iterator[public.Event]:
        """Yield the text that is new to a follower who knows this many characters of the part."""
        end = delta.offset + len(delta.text)
        self._shown[delta.part] = max(known, end)
        if known < end:
            text = delta.text[known - delta.offset :]
            yield public.DeltaEvent(self.id, part=delta.part, kind=delta.kind, offset=known, text=text)

    def _removed(self, entry: Entry) -> Iterator[public.Event]:
        """Yield the parts of a failed or ended reply that were shown and are not in the record."""
        gone = {event.id: None for event in entry.events if isinstance(event, record.PartRemoved)}
        for event in entry.events:
            if isinstance(event, record.RequestMoved):
                gone |= {id: None for id in self._shown if is_below(id, event.id)}
        removed = tuple(id for id in gone if id not in self.session.parts)
        for id in removed:
            self._shown.pop(id, None)
        if removed:
            yield public.RemovedEvent(self.id, parts=removed)

    def _recorded(self, event: record.Recorded) -> Iterator[public.Event]:
        match event:
            case record.PartPut(part=part):
                yield from self._part(part)
            case record.PartGrown(id=id, offset=offset, text=text):
                grown = PartDelta(id, offset, text, _kind(self.session.parts.get(id)))
                yield from self._grown(grown, self._shown.get(id, offset))
            case record.CallMoved(id=id, state=state):
                yield from self._call(self.session.call(id), state)
            case record.RequestMoved(state=states.Open(tries=(*_, last) as tries)):
                yield public.RetryEvent(
                    self.id, attempt=len(tries), message=last.error, status=last.status, next=last.next
                )
            case record.RequestMoved(state=states.Broken(error=error, fallback=model)) if model:
                turn, now = self.session.turn, self.session.elapsed
                failed = turn.given_up[-1].tries if turn is not None else 0
                yield public.RetryEvent(self.id, attempt=failed, message=error, status=None, next=now, model=model)
            case record.SessionPut(info=info):
                if info.title != self._title:
                    self._title = info.title
                    yield public.TitleEvent(self.id, title=info.title)
            case record.RequestMoved() | record.PartRemoved():
                return

    def _part(self, part: parts.Part) -> Iterator[public.Event]:
        match part:
            case parts.StepStart(number=number, cap=cap, closing=closing):
                yield public.StepStartEvent(self.id, number=number, cap=cap, closing=closing)
            case parts.StepFinish():
                yield from self._step(part)
            case parts.Text() | parts.Reasoning():
                yield from self._words(part)
            case parts.Compaction():
                yield from self._compaction(part)
            case parts.Notice(about=about, text=text):
                yield public.NoticeEvent(self.id, about=about, text=text)
            case parts.Sentinel(reason=reason, text=text, mark=mark):
                yield public.SentinelEvent(self.id, kind=mark, reason=reason, text=text)
            case parts.Call(state=state):
                yield from self._call(part, state)
            case parts.Patch(files=files, more=more):
                if files:
                    yield public.PatchEvent(self.id, files=files, more=more)
            case parts.Undone(turn=turn, restored=restored):
                yield public.UndoEvent(self.id, turn=turn, restored=restored)
            case parts.Redone(restored=restored):
                yield public.RedoEvent(self.id, restored=restored)
            case parts.Prompt(id=id, turn=turn, text=text, files=attached):
                paths = tuple(file.path for file in attached)
                yield public.PromptEvent(self.id, id=id, turn=turn, text=text, files=paths)
            case parts.Withdrawn(prompt=prompt):
                yield public.WithdrawnEvent(self.id, prompt=prompt)
            case parts.History(messages=messages):
                for earlier in parts_of(messages):
                    yield from self._earlier(earlier)
            case parts.TurnStart(number=number, agent=agent, model=model, cap=cap):
                yield public.TurnStartEvent(self.id, number=number, agent=agent, model=model, cap=cap)
            case parts.TurnFinish(number=number, reason=reason, detail=detail, spent=spent):
                self._shown.clear()
                yield public.TurnFinishEvent(self.id, number=number, reason=reason, detail=detail, spent=spent)
            case parts.Request() | parts.ReservationRefused() | parts.Extension() | parts.Halt() | parts.Handoff():
                return

    def _earlier(self, part: parts.Prompt | parts.PartOfReply) -> Iterator[public.Event]:
        """Yield a part from before the first turn, which was never streamed."""
        if isinstance(part, parts.Text):
            yield public.TextEvent(self.id, part=part.id, text=part.text, by="model")
        elif isinstance(part, parts.Reasoning):
            yield public.ReasoningEvent(self.id, part=part.id, text=part.text)
        else:
            yield from self._part(part)

    def _words(self, part: parts.Text | parts.Reasoning) -> Iterator[public.Event]:
        """Yield text as far as it is recorded; the text of Bridle and of a synthesis is whole at once."""
        yield from self._grown(PartDelta(part.id, 0, part.text, _kind(part)), self._shown.get(part.id, 0))
        turn = self.session.turn
        synthesis = turn is not None and turn.synthesis == "done" and part.id in turn.words
        if isinstance(part, parts.Text) and (part.by == "bridle" or synthesis):
            yield public.TextEvent(self.id, part=part.id, text=part.text, by=part.by)

    def _step(self, finish: parts.StepFinish) -> Iterator[public.Event]:
        turn = self.session.turn
        assert turn is not None
        for id in turn.reply:
            self._shown.pop(id, None)
            part = self.session.parts[id]
            if isinstance(part, parts.Text) and part.text:
                yield public.TextEvent(self.id, part=id, text=part.text, by="model")
            elif isinstance(part, parts.Reasoning) and part.text:
                yield public.ReasoningEvent(self.id, part=id, text=part.text)
        state = turn.request.state if turn.request is not None else None
        usage, cost, ended = None, 0.0, ""
        if isinstance(state, states.Replied):
            usage, cost, ended = state.usage, state.cost, state.finish
        yield public.StepFinishEvent(
            self.id, number=finish.number, calls=finish.calls, usage=usage, cost=cost, finish=ended
        )

    def _compaction(self, part: parts.Compaction) -> Iterator[public.Event]:
        yield public.CompactionEvent(
            self.id, cause=part.cause, outcome=part.outcome, before=part.before, after=part.after
        )
        if part.cause != "prune" and part.outcome != "open":
            yield public.NoticeEvent(self.id, about="compaction", text=compaction_text(part))

    def _call(self, call: parts.Call, state: states.CallState) -> Iterator[public.Event]:
        asks, told = _asks(state), self._asks.pop(call.id, {})
        if asks:
            self._asks[call.id] = asks
        for ask in told.values():
            if ask.id not in asks:
                yield public.AskEndEvent(self.id, id=ask.id, call=call.id)
        yield from self._moved(call, state)
        for ask in asks.values():
            if ask.id not in told:
                yield self._ask(call, ask)

    def _moved(self, call: parts.Call, state: states.CallState) -> Iterator[public.Event]:
        match state:
            case states.Running():
                yield public.ToolStartEvent(self.id, id=call.id, tool=call.name, input=_input(call))
            case states.Waiting(child=child, told=told):
                if call.id not in self._started:
                    self._started.add(call.id)
                    yield self._use(call, "waiting", child=child)
                    yield public.SubagentEvent(
                        self.id, call=call.id, child=child, state="started", background=bool(told)
                    )
            case states.Done() | states.Failed():
                yield from self._ended(call, state)
            case states.Refused(refusal=refusal, output=output):
                yield self._use(call, "refused", output=output, refusal=refusal.name, limit=refusal.limit)
            case states.Pending() | states.Asking() | states.Approved() | states.Repeat() | states.Queued():
                return

    def _ended(self, call: parts.Call, state: states.Done | states.Failed) -> Iterator[public.Event]:
        yield self._use(call, "done" if isinstance(state, states.Done) else "failed", output=state.output)
        if state.report is not None:
            child, reason, spent = state.report.child, state.report.reason, state.report.spent
            yield public.SubagentEvent(self.id, call=call.id, child=child, state="ended", reason=reason, spent=spent)
        if isinstance(state, states.Done) and state.todos is not None:
            yield public.TodosEvent(self.id, todos=state.todos)

    def _use(self, call: parts.Call, state: public.ToolState, **fields: Any) -> public.ToolUseEvent:
        return public.ToolUseEvent(self.id, id=call.id, tool=call.name, input=_input(call), state=state, **fields)

    def _ask(self, call: parts.Call, ask: states.Ask) -> public.AskEvent:
        """Return an ask with the session that raised it: a subagent's may be answered there or here."""
        wider = tuple(f"{access.permission}: {access.always or access.pattern}" for access in ask.accesses)
        return public.AskEvent(
            ask.session or self.id,
            id=ask.id,
            call=call.id,
            kind=ask.kind,
            text=ask.text,
            choices=ask.choices,
            always=wider if ask.kind == "permission" else UNSET,
            diff=ask.diff or UNSET,
        )


def compaction_text(part: parts.Compaction) -> str:
    """Return the outcome of a compaction as text."""
    if part.outcome != "smaller":
        return "context not compacted: nothing to gain"
    return f"context compacted: {part.before:,} → {part.after:,} tokens"


def _kind(part: parts.Part | None) -> Literal["text", "reasoning"]:
    return "reasoning" if isinstance(part, parts.Reasoning) else "text"


def _asks(state: states.CallState) -> dict[str, states.Ask]:
    """Return the open asks of a call and of the subagent that it waits for."""
    if isinstance(state, states.Asking):
        return {state.ask.id: state.ask}
    return {ask.id: ask for ask in state.asks} if isinstance(state, states.Waiting) else {}


def _input(call: parts.Call) -> Any:
    return msgspec.json.decode(call.arguments)
