"""`ReplyShown`: the part of a projection for replies of the open turn: texts, thoughts, calls, asks, their ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from bridle.core import parts, states
from bridle.core.events import PartDelta
from bridle.core.ids import is_below
from bridle.surfaces.server.opencode import events, ids, shapes
from bridle.surfaces.server.opencode.ids import ENDING, FINISH, FIRST, PartPlace
from bridle.surfaces.server.opencode.tool_parts import (
    MOST_OUTPUT,
    CallShown,
    answered,
    asked,
    tool_state,
)

if TYPE_CHECKING:
    from bridle.surfaces.server.opencode.projection import Projection

FINISHES = {"tool_calls": "tool-calls", "content_filter": "content-filter", "": "unknown"}
"""Finish words that clients spell differently."""
Words = parts.Text | parts.Reasoning


@dataclass(slots=True)
class WordsShown:
    """A text or a thought that is not whole: what is recorded of it, and its part, which may have more."""

    message: str
    part: str
    start: int
    recorded: str | None = None
    """None until it is recorded."""


class ReplyShown:
    """The replies of one turn."""

    def __init__(self, host: Projection) -> None:
        self.host = host
        self.asks: dict[str, events.PermissionAsked | events.QuestionAsked] = {}
        self.answered: dict[str, events.Answered] = {}
        """The answers of asks that are not open any more."""
        self._message = ""
        self._step = 0
        self._requests: dict[str, str] = {}
        """Messages by the requests whose replies they show."""
        self._failures: dict[str, int] = {}
        self._words: dict[str, WordsShown] = {}
        self._calls: dict[str, CallShown] = {}
        self._live_calls: dict[str, str] = {}
        """Calls whose arguments still come, with their messages."""
        self._finishes: dict[str, str] = {}
        """Finish words of replies whose calls have not ended."""
        self._ended: set[str] = set()
        """Requests that changed in this entry."""
        self._open: dict[str, str] = {}
        """Messages without an end, with the id of the part that ends each."""
        self._extra = 0

    def begin_turn(self) -> None:
        """Forget the turn before."""
        self._message, self._step, self._extra = "", 0, 0
        for kept in (self._requests, self._failures, self._words, self._calls, self._live_calls, self._finishes):
            kept.clear()
        self._ended.clear()
        self._open.clear()

    def begin_step(self, number: int) -> None:
        """Add the message of a step."""
        self._step = number
        self._message = self._begin("step", str(number))
        self.host.talk.part(
            shapes.StepStartPart(id=self._id(FIRST), sessionID=self.host.name, messageID=self._message), self.host.at
        )

    def put(self, part: parts.Part) -> None:
        """Show a new part of a reply; others are left out."""
        match part:
            case parts.Request(purpose=purpose, id=id):
                if purpose in ("step", "closing"):
                    self._requests[id] = self._message
                elif purpose == "synthesis":
                    self._requests[id] = self._begin("synthesis", id)
            case parts.Text(by="bridle", text=text):
                self.say(text)
            case parts.Text(id=id, text=text) | parts.Reasoning(id=id, text=text):
                self._put_words(part, id, text)
            case parts.Call():
                self._put_call(part)
            case parts.StepFinish(cut=cut):
                for id in tuple(self._words):
                    self._close(id)
                finish = self._finishes.get(self._message, "unknown")
                self._finishes[self._message] = "length" if cut else finish
            case _:
                pass

    def of_delta(self, delta: PartDelta) -> None:
        """Show a streamed piece, if it continues what is shown."""
        if delta.kind == "output":
            self._printed(delta)
            return
        request = ids.request_of(delta.part)
        place = ids.place_of(delta.part)
        message = self._requests.get(request)
        if message is None or place is None or place.failures != self._failures.get(request, 0):
            return
        if delta.kind == "arguments":
            self._written(delta, message, place)
            return
        shown = self._words.get(delta.part)
        if shown is None:
            if delta.offset or ids.part_id(place, self.host.session) in self.host.talk.messages[message].parts:
                return
            shown = self._open_words(delta.part, message, place, is_thought=delta.kind == "reasoning")
        self._grow(shown, delta.offset, delta.text)

    def grown(self, id: str, offset: int, text: str) -> None:
        """Show recorded growth as far as it was not streamed."""
        shown = self._words.get(id)
        if shown is not None:
            shown.recorded = (shown.recorded or "")[:offset] + text
            self._grow(shown, 0, shown.recorded)

    def removed(self, id: str) -> None:
        """Remove a part whose reply is asked again."""
        words, call = self._words.pop(id, None), self._calls.pop(id, None)
        shown = words or call
        place = ids.place_of(id)
        if shown is not None and place is not None:
            self.host.talk.remove_part(shown.message, ids.part_id(place, self.host.session))
        elif place is not None and (message := self._requests.get(ids.request_of(id))) is not None:
            self.host.talk.remove_part(message, ids.part_id(place, self.host.session))

    def request_moved(self, id: str, state: states.RequestState, elapsed: float) -> None:
        """Count the use of a request; its reply is whole, or asked again."""
        host, message = self.host, self._requests.get(id, "")
        turn = host.turn
        if message:
            self._ended.add(id)
            if turn is not None:
                turn.retry = None
        match state:
            case states.Open(tries=tries) if tries:
                last = tries[-1]
                self._failures[id] = len(tries)
                host.spend(message, last.usage, last.cost)
                if message and turn is not None:
                    due = host.at + round(max(0.0, last.next - elapsed) * 1000)
                    turn.retry = shapes.StatusShape(type="retry", attempt=len(tries), message=last.error, next=due)
            case states.Replied(usage=usage, cost=cost, finish=finish):
                host.spend(message, usage, cost)
                self._finishes.setdefault(message, FINISHES.get(finish, finish))
            case states.Cut(usage=usage, cost=cost):
                host.spend(message, usage, cost)
            case states.Broken(usage=usage, cost=cost, fallback=fallback):
                host.spend(message, usage, cost)
                if fallback and turn is not None:
                    turn.model = fallback
            case states.Interrupted(cost=cost):
                host.spend(message, states.Usage(), cost)
            case states.Open():
                pass

    def moved(self, id: str, state: states.CallState, changed: str) -> None:
        """Show the new state of a call, and what it asks."""
        shown = self._calls.get(id)
        if shown is None:
            return
        before = shown.call.state
        shown.call = replace(shown.call, state=state, changed=changed or shown.call.changed)
        if not isinstance(state, states.Pending | states.Queued | states.Repeat):
            shown.start = shown.start or self.host.at
        if isinstance(before, states.Asking) and not (isinstance(state, states.Asking) and state.ask == before.ask):
            self._answered(before.ask, state, shown.call)
        self._show_call(shown)
        if isinstance(state, states.Asking):
            shown.diff = state.ask.diff or shown.diff
            told = asked(shown, state.ask, self.host.session)
            if told is not None and state.ask.id not in self.asks:
                self.asks[state.ask.id] = told
                self.host.talk.told.append(told)
        if isinstance(state, states.Done) and state.todos is not None:
            self.host.put_todos(
                tuple(shapes.TodoShape(each.content, each.status, each.priority) for each in state.todos)
            )

    def end_entry(self) -> None:
        """Remove what was streamed and not recorded of replies that ended, and end messages without open calls."""
        for id in self._ended:
            for part in [part for part in self._words if is_below(part, id) and self._words[part].recorded is None]:
                self.removed(part)
            for part in [part for part in self._live_calls if is_below(part, id)]:
                del self._live_calls[part]
                self.removed(part)
        self._ended.clear()
        for message in [message for message in self._finishes if message in self._open]:
            if message == self._message and not self._is_waiting(message):
                self._end(message)

    def end_turn(self) -> None:
        """End everything that is open."""
        for id in tuple(self._words):
            self._close(id)
        for message in tuple(self._open):
            self._end(message)
        for id in tuple(self.asks):
            self._withdraw(id)

    def say(self, text: str) -> None:
        """Show a text of Bridle in the last reply of the turn."""
        host = self.host
        turn = host.turn
        if turn is None:
            return
        message = turn.last or self._begin("ending", "")
        self._extra += 1
        id = ids.part_id(PartPlace(turn.number, self._step, ENDING, 0, self._extra), host.session)
        span = shapes.TimeSpan(host.at, host.at)
        host.talk.part(shapes.TextPart(id=id, sessionID=host.name, messageID=message, text=text, time=span), host.at)

    def compaction(self, part: parts.Compaction) -> None:
        """Show a compaction: the request of it, and its summary as a reply."""
        host = self.host
        turn = host.turn
        assert turn is not None
        user, last = host.put_compaction(part), turn.last
        if part.outcome != "smaller":
            return
        message = host.put_reply("compaction", place=part.id)
        info = host.talk.messages[message].info
        assert isinstance(info, shapes.Assistant)
        self.say(part.summary)
        time = shapes.ReplyTime(info.time.created, max(host.at, info.time.created))
        host.talk.change(replace(info, parentID=user, summary=True, time=time, finish="stop"))
        host.talk.told.append(events.SessionCompacted(sessionID=host.name))
        turn.last = last or message

    def earlier(self, part: parts.PartOfReply) -> None:
        """Show a part of a reply from before the first turn, which is whole."""
        host = self.host
        turn = host.turn
        assert turn is not None
        message = turn.last or self._begin("earlier", part.id)
        self._extra += 1
        id = ids.part_id(PartPlace(0, place=self._extra), host.session)
        span = shapes.TimeSpan(host.at, host.at)
        if isinstance(part, parts.Call):
            shown = self._calls[part.id] = CallShown(part, message, id, host.at)
            self._show_call(shown)
        elif isinstance(part, parts.Reasoning):
            host.talk.part(
                shapes.ReasoningPart(id=id, sessionID=host.name, messageID=message, text=part.text, time=span), host.at
            )
        else:
            host.talk.part(
                shapes.TextPart(id=id, sessionID=host.name, messageID=message, text=part.text, time=span), host.at
            )

    def _begin(self, kind: str, place: str) -> str:
        message = self.host.put_reply(kind, place=place)
        # A step may have more messages than its own, for example a synthesis.
        self._extra += kind != "step"
        self._open[message] = self._id(FINISH, self._extra if kind != "step" else 0)
        return message

    def _id(self, attempt: int, place: int = 0) -> str:
        turn = self.host.turn
        assert turn is not None
        return ids.part_id(PartPlace(turn.number, self._step, attempt, 0, place), self.host.session)

    def _put_words(self, part: Words, id: str, text: str) -> None:
        message, place = self._requests.get(ids.request_of(id)), ids.place_of(id)
        if message is None or place is None:
            return
        is_thought = isinstance(part, parts.Reasoning)
        shown = self._words.get(id) or self._open_words(id, message, place, is_thought=is_thought)
        shown.recorded = text
        self._grow(shown, 0, text)
        if message != self._message:
            # A synthesis is whole when it is recorded.
            self._close(id)

    def _open_words(self, id: str, message: str, place: PartPlace, *, is_thought: bool) -> WordsShown:
        host = self.host
        part = ids.part_id(place, host.session)
        # The record alone must lead to the same times, and does not know when a text began to stream.
        start = host.talk.messages[message].info.time.created
        shown = self._words[id] = WordsShown(message, part, start)
        span = shapes.TimeSpan(start)
        made: shapes.Part = (
            shapes.ReasoningPart(id=part, sessionID=host.name, messageID=message, text="", time=span)
            if is_thought
            else shapes.TextPart(id=part, sessionID=host.name, messageID=message, text="", time=span)
        )
        host.talk.part(made, host.at)
        return shown

    def _grow(self, shown: WordsShown, offset: int, text: str) -> None:
        part = self.host.talk.messages[shown.message].parts[shown.part]
        assert isinstance(part, shapes.TextPart | shapes.ReasoningPart)
        known = len(part.text)
        if offset <= known < offset + len(text):
            self.host.talk.grow(shown.message, shown.part, text[known - offset :])

    def _close(self, id: str) -> None:
        """Show a text as recorded, with its end; what was streamed and not recorded is gone."""
        shown = self._words.pop(id)
        if shown.recorded is None:
            self.host.talk.remove_part(shown.message, shown.part)
            return
        part = self.host.talk.messages[shown.message].parts[shown.part]
        assert isinstance(part, shapes.TextPart | shapes.ReasoningPart)
        span = shapes.TimeSpan(shown.start, max(self.host.at, shown.start))
        self.host.talk.part(replace(part, text=shown.recorded, time=span), self.host.at)

    def _put_call(self, call: parts.Call) -> None:
        message, place = self._requests.get(ids.request_of(call.id)), ids.place_of(call.id)
        if message is None or place is None:
            return
        self._live_calls.pop(call.id, None)
        shown = self._calls[call.id] = CallShown(call, message, ids.part_id(place, self.host.session))
        self._show_call(shown)

    def _show_call(self, shown: CallShown) -> None:
        host, call = self.host, shown.call
        state = tool_state(shown, host.at, host.name)
        part = shapes.ToolPart(
            id=shown.part, sessionID=host.name, messageID=shown.message, callID=call.id, tool=call.name, state=state
        )
        host.talk.part(part, host.at)

    def _written(self, delta: PartDelta, message: str, place: PartPlace) -> None:
        """Show a call as soon as its name is known; its arguments come with the record."""
        if delta.part not in self._live_calls and delta.part not in self._calls:
            self._live_calls[delta.part] = message
            shown = CallShown(
                parts.Call(delta.part, delta.call, "", ""), message, ids.part_id(place, self.host.session)
            )
            self._show_call(shown)

    def _printed(self, delta: PartDelta) -> None:
        shown = self._calls.get(delta.part)
        if shown is not None and isinstance(shown.call.state, states.Running):
            shown.output = (shown.output + delta.text)[-MOST_OUTPUT:]
            self._show_call(shown)

    def _answered(self, ask: states.Ask, state: states.CallState, call: parts.Call) -> None:
        told = self.asks.pop(ask.id, None)
        if told is None:
            return
        answer = answered(told, state, call)
        self.answered[ask.id] = answer
        self.host.talk.told.append(answer)

    def _withdraw(self, id: str) -> None:
        refused = states.Refused(states.Refusal("aborted"), "")
        self._answered(states.Ask(id, "", ()), refused, parts.Call("", "", "", ""))

    def _is_waiting(self, message: str) -> bool:
        """Return whether a call of this reply has no result, told or final."""
        return any(
            not isinstance(shown.call.state, states.Ended)
            and not (isinstance(shown.call.state, states.Waiting) and shown.call.state.told)
            for shown in self._calls.values()
            if shown.message == message
        )

    def _end(self, message: str) -> None:
        """Show the end of a reply: its use, and that it is complete."""
        host, ending = self.host, self._open.pop(message)
        info = host.talk.messages[message].info
        assert isinstance(info, shapes.Assistant)
        finish = self._finishes.pop(message, "")
        has_calls = any(shown.message == message for shown in self._calls.values())
        finish = "tool-calls" if finish == "stop" and has_calls else finish
        if finish:
            part = shapes.StepFinishPart(
                id=ending,
                sessionID=host.name,
                messageID=message,
                reason=finish,
                cost=info.cost,
                tokens=info.tokens,
            )
            host.talk.part(part, host.at)
        time = shapes.ReplyTime(info.time.created, max(host.at, info.time.created))
        host.talk.change(replace(info, finish=finish or UNSET, time=time))
