"""`Updates`: derives the updates of a session for an editor from its public events; it does no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from bridle.core import parts, states
from bridle.core.session import Session
from bridle.core.todos import Todo
from bridle.surfaces.acp import answers as wire
from bridle.surfaces.acp.call_shapes import MOST_OUTPUT, CallShape, image, output, shaped
from bridle.surfaces.shared.safe_text import line, plain
from bridle.wire import events

STATES: dict[events.ToolState, wire.ToolStatus] = {
    "pending": "pending",
    "waiting": "in_progress",
    "done": "completed",
    "failed": "failed",
    "refused": "failed",
}


class Updates:
    """The updates of one follower. `session` is the state that the events were made from."""

    def __init__(self, directory: Path, session: Session) -> None:
        self._directory = directory
        self._session = session
        self._sent: dict[str, int] = {}
        """Number of characters sent of a text or a thought."""
        self.calls: dict[str, CallShape] = {}
        """The calls that the client knows."""
        self._printed: dict[str, str] = {}
        self._sentences = 0

    def know(self, session: Session) -> None:
        """Take the calls of a session as known to the client, because its history was reported."""
        for part in session.parts.values():
            if isinstance(part, parts.Call):
                self.calls[part.id] = shaped(part.id, part.name, events_input(part), self._directory)

    def _own(self) -> str:
        """Return the id of a message of Bridle, beside those of the model."""
        self._sentences += 1
        turn = self._session.turn
        return f"{turn.start.number if turn is not None else 0}.bridle.{self._sentences}"

    def of(self, event: events.Event) -> Iterator[wire.Update]:
        """Yield the updates for an event; most events have one or none."""
        match event:
            case events.DeltaEvent():
                yield from self._delta(event)
            case events.TextEvent(part=part, text=text):
                yield from self._words(part, "text", self._sent.get(part, 0), text[self._sent.get(part, 0) :])
            case events.ReasoningEvent(part=part, text=text):
                yield from self._words(part, "reasoning", self._sent.get(part, 0), text[self._sent.get(part, 0) :])
            case events.ToolStartEvent(id=id, tool=tool, input=given):
                yield self._moved(shaped(id, tool, given, self._directory), "in_progress")
            case events.ToolUseEvent():
                yield from self._used(event)
            case events.RemovedEvent(parts=removed):
                yield from self._removed(removed)
            case events.TodosEvent(todos=todos):
                yield plan(todos)
            case events.NoticeEvent(text=text):
                yield said(self._own(), text)
            case events.RetryEvent(attempt=attempt, message=message):
                yield thought(self._own(), f"The request failed and is retried ({attempt}): {message}")
            case events.SentinelEvent(text=text):
                yield said(self._own(), text)
            case events.TitleEvent(title=title):
                yield wire.InfoUpdate(title=line(title))
            case events.StepFinishEvent():
                yield from self._usage()
            case _:
                # All other events have no place in the protocol, or are part of the answer to the prompt.
                return

    def asked(self, ask: events.AskEvent) -> Iterator[wire.Update]:
        """Yield the call of an ask, which runs only after the answer, with all its arguments."""
        part = self._session.parts.get(ask.call)
        if isinstance(part, parts.Call):
            yield self._moved(shaped(part.id, part.name, events_input(part), self._directory), "pending")

    def _delta(self, event: events.DeltaEvent) -> Iterator[wire.Update]:
        if event.kind == "output":
            printed = (self._printed.get(event.part, "") + event.text)[-MOST_OUTPUT:]
            self._printed[event.part] = printed
            yield wire.ToolOutput(tool_call_id=event.part, content=output(printed))
        elif event.kind != "arguments":
            yield from self._words(event.part, event.kind, event.offset, event.text)

    def _words(self, part: str, kind: str, offset: int, text: str) -> Iterator[wire.Update]:
        known = self._sent.get(part, 0)
        fresh = text[max(0, known - offset) :]
        self._sent[part] = max(known, offset + len(text))
        if fresh:
            yield (thought if kind == "reasoning" else said)(part, fresh)

    def _used(self, event: events.ToolUseEvent) -> Iterator[wire.Update]:
        given = event.input if event.state != "pending" else None
        shape = shaped(event.id, event.tool, given, self._directory)
        told = output(event.output) if isinstance(event.output, str) else ()
        self._printed.pop(event.id, None)
        content = shape.content if event.state == "done" and shape.content else told
        part = self._session.parts.get(event.id)
        yield self._moved(shape, STATES[event.state], (*content, *attached(part)))

    def _moved(
        self, shape: CallShape, status: wire.ToolStatus, content: tuple[wire.ToolContent, ...] = ()
    ) -> wire.NewCall | wire.ToolCallUpdate:
        kind = wire.ToolCallUpdate if shape.id in self.calls else wire.NewCall
        self.calls[shape.id] = shape
        return kind(
            tool_call_id=shape.id,
            title=shape.title,
            kind=shape.kind,
            status=status,
            raw_input=shape.given,
            locations=shape.locations,
            content=content or shape.content,
        )

    def _removed(self, removed: tuple[str, ...]) -> Iterator[wire.Update]:
        for id in removed:
            if id in self.calls:
                yield self._moved(self.calls[id], "failed", output("The reply was cut off: this call does not count."))
        if any(id in self._sent for id in removed):
            yield said(removed[0], "\n\n(The reply was cut off. It starts anew.)\n\n")

    def _usage(self) -> Iterator[wire.Update]:
        turn = self._session.turn
        if turn is not None and turn.window:
            cost = wire.Cost(amount=turn.used.cost, currency="USD")
            yield wire.UsageUpdate(used=self._session.tokens, size=turn.window, cost=cost)


def replayed(session: Session, directory: Path) -> Iterator[wire.Update]:
    """Yield a session's history, whole: prompts, replies, calls with their final states, and the to-do list."""
    updates = Updates(directory, session)
    for part in session.parts.values():
        match part:
            case parts.Prompt(id=id, text=text):
                yield wire.UserChunk(content=wire.TextContent(text=plain(text)), message_id=id)
            case parts.Text(id=id, text=text) if text:
                yield said(id, text)
            case parts.Reasoning(id=id, text=text) if text:
                yield thought(id, text)
            case parts.Sentinel(id=id, text=text):
                yield said(id, text)
            case parts.Call():
                yield from _call(updates, part)
            case _:
                continue
    if session.todos:
        yield plan(session.todos)


def _call(updates: Updates, part: parts.Call) -> Iterator[wire.Update]:
    match part.state:
        case states.Done(output=told):
            state: events.ToolState = "done"
        case states.Failed(output=told):
            state = "failed"
        case states.Refused(output=told):
            state = "refused"
        case _:
            state, told = "waiting", ""
    event = events.ToolUseEvent("", id=part.id, tool=part.name, input=events_input(part), state=state, output=told)
    yield from updates.of(event)


def events_input(part: parts.Call) -> object:
    """Return the arguments with which a call runs."""
    return msgspec.json.decode(part.given or "{}")


def attached(part: object) -> Iterator[wire.ToolContent]:
    """Yield the images that a call has made."""
    if isinstance(part, parts.Call) and isinstance(part.state, states.Done):
        yield from (image(each.media, each.data) for each in part.state.attached if each.media.startswith("image/"))


def said(id: str, text: str) -> wire.MessageChunk:
    """Return text for the person."""
    return wire.MessageChunk(content=wire.TextContent(text=plain(text)), message_id=id)


def thought(id: str, text: str) -> wire.ThoughtChunk:
    """Return text that a client shows aside."""
    return wire.ThoughtChunk(content=wire.TextContent(text=plain(text)), message_id=id)


def plan(todos: tuple[Todo, ...]) -> wire.Plan:
    """Return the to-do list; a cancelled task is left out."""
    entries = [
        wire.PlanEntry(content=plain(todo.content), priority=todo.priority, status=todo.status)
        for todo in todos
        if todo.status != "cancelled"
    ]
    return wire.Plan(entries=tuple(entries))
