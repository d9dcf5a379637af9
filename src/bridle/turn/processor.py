"""`Processor`: converts the stream of a model's reply to parts of the session as it arrives; it records nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from math import inf

import msgspec

from bridle.core import stream
from bridle.core.context import estimate_tokens, sound
from bridle.core.events import PartDelta, PartGrown, PartPut, PartRemoved, Recorded
from bridle.core.ids import reply_part_id
from bridle.core.parts import Call
from bridle.core.repair import result_digest
from bridle.core.repetition import Chant
from bridle.core.states import CallState, Done, Failed, Refusal, Refused, ReplyBy, Usage
from bridle.core.thinking import Kind, Thinking
from bridle.tools.tool import Tool
from bridle.turn.hook import ModelReply
from bridle.turn.output_schema import OUTPUT, OutputSchema
from bridle.turn.partial_reply import Growing
from bridle.turn.repair_call import call_part

MOST_TOKENS = 20_000_000
"""No request has ever used more: a higher count is an error of the provider."""
OUTPUT_WAS_CUT = (
    "Your output was cut at the length limit in the middle of this call's arguments, so the call was not run. "
    "Send it again with shorter arguments, or in several calls."
)

LIKE_A_CALL = re.compile(r"\A\s*[\[{<`f]")
WAS_WRITTEN = "the call was written as text; make a tool call instead"


class Processor:
    """One try of one request, converted from a stream to parts."""

    def __init__(
        self,
        prefix: str,
        tools: Mapping[str, Tool],
        refusal: tuple[Refusal, str] | None,
        wanted: OutputSchema | None = None,
        offered: Collection[str] = (),
    ) -> None:
        """Capture a call that gives the `wanted` answer; refuse calls with `refusal`, if given.

        `offered` are the tools that the error of a malformed call names.
        """
        self.room = inf
        """The number of characters that the reply may still have."""
        self._wanted = wanted
        self.usage: Usage | None = None
        self.finish = ""
        self.by: ReplyBy = "model"
        self.error: stream.ModelError | None = None
        self.ended = False
        self.chanting = False
        self.left = False
        """No effect waits for this reply any more: further events are ignored."""
        self._prefix = prefix
        self._tools = tools
        self._offered = offered
        self._refusal = refusal
        self._parts: list[Growing | stream.ToolCall] = []
        self._growing: Growing | None = None
        self._inputs: dict[str, int] = {}
        self._results: dict[str, CallState] = {}
        self._thinking = Thinking()
        self._chants = {"text": Chant(), "reasoning": Chant()}

    @property
    def over(self) -> bool:
        """Whether all further events are ignored."""
        return self.ended or self.error is not None or self.chanting

    @property
    def heard_anything(self) -> bool:
        return bool(self._parts)

    def feed(self, event: stream.StreamEvent) -> Sequence[PartDelta]:
        """Take one event; return the deltas to show at once."""
        match event:
            case stream.TextDelta():
                text = self._heard(event.text)
                if self._thinking.over:
                    return (self._grow("text", text),)
                return [self._grow(kind, words) for kind, words in self._thinking.take(text)]
            case stream.ReasoningDelta():
                return (self._grow("reasoning", self._heard(event.text)),)
            case stream.ToolInputDelta():
                text = self._heard(event.text)
                growing = self._parts[self._inputs[event.id]] if event.id in self._inputs else None
                return (growing.add(text),) if isinstance(growing, Growing) else ()
            case stream.Alive() | stream.Start() | stream.StepBegin() | stream.ToolInputEnd():
                return ()
        shown = self._flushed()
        if type(event) not in stream.EVENT_TYPES and not isinstance(event, stream.StreamEvent):
            # A model of a program may yield anything.
            self.error = stream.ModelError(f"the model yielded {event!r:.80}, which is no stream event")
        match event:
            case stream.ToolCall(name, arguments, id, seal):
                self._called(stream.ToolCall(sound(name), sound(arguments), id, seal))
            case stream.StepEnd():
                self.finish, self.usage, self.by = event.finish, event.usage, event.by
            case stream.StreamEnd():
                self.ended = True
            case stream.ReasoningEnd(seal):
                if seal:
                    growing = self._growing_part("reasoning")
                    growing.seal, growing.unsealed = seal, True
                self._growing = None
            case stream.TextStart() | stream.TextEnd() | stream.ReasoningStart():
                self._growing = None
            case stream.ToolInputStart(name, id):
                self._growing = None
                return [*shown, self._input_began(sound(name), id)]
            case stream.ToolResult(id, output):
                self._results[id] = Done(sound(output), result_digest(output))
            case stream.ToolError(id, error):
                self._results[id] = Failed(sound(error), result_digest(error))
            case stream.ModelError():
                self.error = event
        return shown

    def _heard(self, text: str) -> str:
        """Return the text of a delta as it can be stored. A reply that is too long ends with the reason `length`."""
        self.room -= len(text)
        if self.room < 0:
            self.finish, self.ended = "length", True
        return sound(text)

    def _flushed(self) -> list[PartDelta]:
        """Release text held back as a possible beginning of a thought, because no more text follows for now."""
        return [self._grow(kind, words) for kind, words in self._thinking.end()]

    def _input_began(self, name: str, id: str) -> PartDelta:
        place = self._inputs.setdefault(id, len(self._parts))
        growing = Growing(reply_part_id(self._prefix, place), "arguments", name)
        self._parts[place : place + 1] = [growing]
        return growing.add("")

    def _called(self, call: stream.ToolCall) -> None:
        """Add a complete call at the position where its input began, or at the end."""
        self._growing = None
        place = self._inputs.pop(call.id, len(self._parts))
        self._parts[place : place + 1] = [call]

    def _growing_part(self, kind: Kind) -> Growing:
        growing = self._growing
        if growing is None or growing.kind != kind:
            growing = self._growing = Growing(reply_part_id(self._prefix, len(self._parts)), kind)
            self._parts.append(growing)
        return growing

    def _grow(self, kind: Kind, text: str) -> PartDelta:
        self.chanting = self._chants[kind].heard(text) or self.chanting
        return self._growing_part(kind).add(text)

    def growth(self) -> list[Recorded]:
        """Return the events for text that came since the last call, for the journal."""
        return [event for part in self._parts if isinstance(part, Growing) for event in part.events()]

    def forget_growth(self, events: list[Recorded]) -> None:
        """Undo `growth` for events that could not be written: their text is returned again."""
        lost = {event.part.id: 0 for event in events if isinstance(event, PartPut)}
        lost |= {event.id: event.offset for event in events if isinstance(event, PartGrown)}
        for part in self._parts:
            if isinstance(part, Growing) and part.id in lost:
                part.stored = lost[part.id]
                part.put = part.stored > 0
                part.unsealed = bool(part.seal)

    def partial(self) -> list[Recorded]:
        """Return the events that remove the recorded parts of a failed try."""
        return [PartRemoved(part.id) for part in self._parts if isinstance(part, Growing) and part.put]

    def parts(self, *, whole: bool) -> list[Recorded]:
        """Return everything in the order in which it came; calls only of a reply that is whole."""
        events: list[Recorded] = []
        self._flushed()
        if whole:
            # An input without its call: the reply was cut in the middle of it.
            for id, place in self._inputs.items():
                part = self._parts[place]
                assert isinstance(part, Growing)
                self._parts[place] = stream.ToolCall(part.name, part.text, id)
            self._inputs.clear()
        for index, part in enumerate(self._parts):
            if isinstance(part, Growing):
                events += part.events()
            elif isinstance(part, stream.ToolCall) and whole:
                events.append(PartPut(self._call(part, index)))
        return events

    def _call(self, event: stream.ToolCall, index: int) -> Call:
        id = reply_part_id(self._prefix, index)
        call = call_part(
            id, event, self._tools, offered=self._offered, cut=OUTPUT_WAS_CUT if self.finish == "length" else ""
        )
        if event.written:
            call = msgspec.structs.replace(call, written=True, note="; ".join(filter(None, (WAS_WRITTEN, call.note))))
        if event.seal:
            call = msgspec.structs.replace(call, seal=event.seal)
        if event.id in self._results and not event.written:
            return msgspec.structs.replace(call, state=self._results[event.id], invalid="")
        if self._wanted is not None and event.name == OUTPUT:
            return msgspec.structs.replace(call, state=self._wanted.captured(call.arguments), invalid="")
        if self._refusal is not None:
            refusal, text = self._refusal
            return msgspec.structs.replace(call, state=Refused(refusal, text))
        return call

    def find_calls(self) -> bool:
        """Replace text that is nothing but calls of offered tools by these calls; return whether there were any."""
        spoken = [part for part in self._parts if isinstance(part, Growing) and part.kind != "arguments"]
        if self._refusal is not None or len(spoken) < len(self._parts) or not LIKE_A_CALL.search(self.text):
            return False
        # Imported when a text looks like a call, which is rare.
        from bridle.model.unparsed_calls import written_calls

        found = written_calls(self.text, self._offered)
        self._parts += [stream.ToolCall(name, arguments, written=True) for name, arguments in found]
        for part in spoken if found else ():
            part.gone = part.kind == "text"
        return bool(found)

    def find_output(self) -> None:
        """Replace text that is the wanted answer by the call that should have given it."""
        arguments = self._wanted.found_in(self.text) if self._wanted is not None and not self.calls else ""
        if arguments:
            self._parts.append(stream.ToolCall(OUTPUT, arguments, OUTPUT))

    @property
    def captured(self) -> int:
        """Number of calls that gave the answer, or tried to."""
        if self._wanted is None:
            return 0
        return sum(isinstance(part, stream.ToolCall) and part.name == OUTPUT for part in self._parts)

    @property
    def calls(self) -> int:
        return sum(isinstance(part, stream.ToolCall) for part in self._parts)

    @property
    def reply(self) -> ModelReply:
        """The reply as hooks see it."""
        return ModelReply(self.text, tuple(part for part in self._parts if isinstance(part, stream.ToolCall)))

    @property
    def wordless(self) -> bool:
        """Whether the reply has no text; thoughts do not count as text."""
        return not any(isinstance(part, Growing) and part.kind == "text" and part.text.strip() for part in self._parts)

    @property
    def text(self) -> str:
        """The whole text of the reply."""
        return "".join(part.text for part in self._parts if isinstance(part, Growing) and part.kind == "text")

    @property
    def text_id(self) -> str:
        """The id under which the first text was shown."""
        return next(part.id for part in self._parts if isinstance(part, Growing) and part.kind == "text")

    def counted(self, input_estimate: int) -> Usage:
        """Return the provider's usage if it is plausible; else an estimate, never zero."""
        usage = self.usage
        if self.by == "hook":
            return usage or Usage()
        if usage is not None and 0 < usage.total <= MOST_TOKENS and min(msgspec.structs.astuple(usage)[:5]) >= 0:
            return usage
        heard = estimate_tokens(sum(_size(part) for part in self._parts))
        return Usage(input=input_estimate, output=heard, estimated=True)


def _size(part: Growing | stream.ToolCall) -> int:
    return len(part.name) + (part.size if isinstance(part, Growing) else len(part.arguments))
