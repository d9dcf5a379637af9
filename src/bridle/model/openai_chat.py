"""`ChatModel`: adapter for OpenAI's Chat Completions API and compatible servers, with reply parser; `http` sends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from bridle.core import messages, stream
from bridle.core.messages import Message
from bridle.core.states import Usage
from bridle.core.stream import ModelError, ModelRequest, StreamEvent, ToolSpec
from bridle.model.http import failure
from bridle.model.request_body import JsonForm, data_address, request_body, wire_id, wire_name
from bridle.model.server_json import count_of, decoded, disjoint, inner, json_text
from bridle.model.wire_model import WireModel

FINISH = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}


MOST_MISSING = 1_000_000


class ChatModel(WireModel):
    """A model behind the Chat Completions API. See `Model`."""

    path = "/chat/completions"

    def body(self, request: ModelRequest) -> bytes:
        quirks = self.quirks
        form = request.messages.form(
            f"chat {request.model}", lambda: JsonForm(MessageForms(request.model, quirks.thoughts, request.takes).of)
        )
        head: dict[str, Any] = {"model": self.name}
        if request.tools:
            head["tools"] = self.tools(request.tools)
        items = form.closed()
        if request.system:
            system = msgspec.json.encode({"role": "system", "content": request.system})
            items = b",".join((system, items)) if items else system
        fixed: dict[str, Any] = {"stream": True, quirks.max_tokens: request.max_output_tokens}
        if quirks.usage:
            fixed["stream_options"] = {"include_usage": True}
        if request.tools:
            fixed["tool_choice"] = request.tool_choice
        options = {"prompt_cache_key": request.session, **request.options} if quirks.cache_key else request.options
        return request_body(head, "messages", items, fixed, options)

    def reply(self) -> ChatReply:
        return ChatReply(ends_without_done=self.quirks.ends_without_done)

    def tool(self, spec: ToolSpec) -> dict[str, Any]:
        function = {"name": spec.name, "description": spec.description, "parameters": spec.schema}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class MessageForms:
    """Converts messages to this wire's JSON. Reasoning goes back only to the model that wrote it, in its own field."""

    model: str = ""
    thoughts: str = ""
    takes: frozenset[str] = frozenset()

    def of(self, message: Message) -> Iterator[dict[str, Any]]:
        match message:
            case messages.UserMessage():
                yield {"role": "user", "content": _user_content(message, self.takes)}
            case messages.AssistantMessage():
                yield self._assistant(message)
            case messages.ResultMessage():
                yield {"role": "tool", "tool_call_id": wire_id(message.call), "content": message.text}

    def _assistant(self, message: messages.AssistantMessage) -> dict[str, Any]:
        said = "".join(block.text for block in message.blocks if isinstance(block, messages.AssistantText))
        own = message.model == self.model
        calls = [_call_form(block, own=own) for block in message.blocks if isinstance(block, messages.CallMessage)]
        form: dict[str, Any] = {"role": "assistant", "content": said or None}
        if self.thoughts and own:
            thoughts = [block for block in message.blocks if isinstance(block, messages.Thought)]
            if self.thoughts == "reasoning_details":
                seals = [msgspec.json.decode(block.seal) for block in thoughts if block.seal]
                details = [detail for seal in seals if isinstance(seal, list) for detail in seal]
                if details:
                    form["reasoning_details"] = details
            elif thoughts:
                form[self.thoughts] = "".join(block.text for block in thoughts)
        if calls:
            form["tool_calls"] = calls
        return form


def _user_content(message: messages.UserMessage, takes: frozenset[str]) -> str | list[dict[str, Any]]:
    text, seen = message.seen_by(takes)
    if not seen:
        return text
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for attached in seen:
        address = data_address(attached.media, attached.data)
        if attached.media.startswith("image/"):
            content.append({"type": "image_url", "image_url": {"url": address}})
        else:
            content.append({"type": "file", "file": {"filename": attached.name, "file_data": address}})
    return content


def _call_form(call: messages.CallMessage, *, own: bool) -> dict[str, Any]:
    form: dict[str, Any] = {
        "id": wire_id(call.id),
        "type": "function",
        "function": {"name": wire_name(call.name), "arguments": call.arguments},
    }
    if own and call.seal:
        form["extra_content"] = msgspec.Raw(call.seal.encode())
    return form


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _CallDelta(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: Any = None


class _Delta(msgspec.Struct, kw_only=True):
    content: Any = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[_CallDelta] | None = None


class _Choice(msgspec.Struct):
    index: int = 0
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


@dataclass(slots=True)
class _Call:
    id: str
    place: str
    """The server's identification of this call: its index, or else its id."""
    number: str
    """Bridle's identification, because servers repeat or omit ids."""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    seal: str = ""

    def another(self, id: str) -> bool:
        """Return whether a repeated name begins another call: its id differs, or this call's arguments are complete."""
        if id and self.id:
            return id != self.id
        try:
            return bool(self.name) and isinstance(msgspec.json.decode("".join(self.pieces)), dict)
        except (msgspec.MsgspecError, UnicodeEncodeError):
            return False


_chunks = msgspec.json.Decoder(_Chunk)


class ChatReply:
    """Parser of one streamed reply. See `StreamedReply`."""

    def __init__(self, *, ends_without_done: bool = False) -> None:
        self.done = False
        self.failed = False
        self._ends_without_done = ends_without_done
        self._open: Literal["", "text", "reasoning"] = ""
        self._calls: list[_Call] = []
        self._finish = ""
        self._usage: Usage | None = None
        self._details: list[dict[str, Any]] = []

    def read(self, data: bytes) -> Iterator[StreamEvent]:
        if data.strip() == b"[DONE]":
            self.done = True
            return
        chunk = decoded(_chunks, data)
        if chunk.error:
            self.failed = True
            yield failure({"error": chunk.error})
            return
        if chunk.usage is not None:
            self._usage = usage_of(chunk.usage) or self._usage
        for choice in chunk.choices or ():
            if choice.index == 0:
                if choice.delta is not None:
                    yield from self._delta(choice.delta)
                if choice.finish_reason:
                    self._finish = choice.finish_reason

    def _delta(self, delta: _Delta) -> Iterator[StreamEvent]:
        thought = delta.reasoning_content or delta.reasoning
        if thought:
            yield from self._switch("reasoning")
            yield stream.ReasoningDelta(thought)
        if delta.reasoning_details:
            yield from self._switch("reasoning")
            self._note(delta.reasoning_details)
        content = delta.content if isinstance(delta.content, str) else _text_of(delta.content)
        if words := content or delta.refusal:
            yield from self._switch("text")
            yield stream.TextDelta(words)
        for made in delta.tool_calls or ():
            yield from self._call(made)

    def _switch(self, kind: Literal["", "text", "reasoning"]) -> Iterator[StreamEvent]:
        if kind == self._open:
            return
        if self._open == "text":
            yield stream.TextEnd()
        elif self._open == "reasoning":
            seal = json_text(self._details) if self._details else ""
            self._details = []
            yield stream.ReasoningEnd(seal)
        self._open = kind
        if kind == "text":
            yield stream.TextStart()
        elif kind == "reasoning":
            yield stream.ReasoningStart()

    def _note(self, details: list[dict[str, Any]]) -> None:
        """Record reasoning details; pieces with the same type and index are joined, to be sent back as one."""
        for detail in details:
            last = self._details[-1] if self._details else {}
            if detail.get("type") == last.get("type") and detail.get("index") == last.get("index"):
                for key, value in detail.items():
                    grows = key in ("text", "summary", "data") and isinstance(value, str)
                    last[key] = f"{last.get(key) or ''}{value}" if grows else last.get(key) if value is None else value
            else:
                self._details.append(dict(detail))

    def _call(self, made: _CallDelta) -> Iterator[StreamEvent]:
        yield from self._switch("")
        function = made.function or _Function()
        place = str(made.index) if made.index is not None else made.id or ""
        known = next((call for call in reversed(self._calls) if call.place == place), None) if place else None
        if known is None and not place and self._calls and not function.name:
            known = self._calls[-1]
        if known is None or (function.name and known.another(made.id or "")):
            # Some servers give every call the same index.
            known = _Call(made.id or "", place, str(len(self._calls)))
            self._calls.append(known)
        if function.name and not known.name:
            known.name = function.name
            yield stream.ToolInputStart(known.name, known.number)
        arguments = function.arguments
        if isinstance(arguments, dict):
            arguments = json_text(arguments)
        if made.extra_content:
            known.seal = json_text(made.extra_content)
        if arguments and isinstance(arguments, str):
            known.pieces.append(arguments)
            yield stream.ToolInputDelta(known.number, arguments)

    def end(self) -> Iterator[StreamEvent]:
        """Yield the remaining events at the end of the body; none if it was cut off."""
        if self.failed or not (self.done or (self._ends_without_done and self._finish)):
            return
        yield from self._switch("")
        if self._finish == "error":
            yield ModelError("the provider failed in the middle of its reply", retryable=True)
            return
        for call in self._calls:
            yield stream.ToolInputEnd(call.number)
            yield stream.ToolCall(call.name, "".join(call.pieces), call.number, call.seal)
        yield stream.StepEnd(FINISH.get(self._finish, "unknown"), self._usage)
        yield stream.StreamEnd()


def _text_of(content: Any) -> str:
    """Return the text of a list of content blocks."""
    if not isinstance(content, list):
        return ""
    return "".join(str(block.get("text") or "") for block in content if isinstance(block, dict))


def usage_of(raw: Any) -> Usage | None:
    """Return token usage from this wire's counts, where cached and reasoning tokens are counted twice."""
    if not isinstance(raw, Mapping):
        return None
    reads, writes = count_of(raw.get("prompt_tokens")), count_of(raw.get("completion_tokens"))
    thought = count_of(inner(raw, "completion_tokens_details").get("reasoning_tokens")) or 0
    missing = (count_of(raw.get("total_tokens")) or 0) - (reads or 0) - (writes or 0)
    if writes is not None and 0 < missing <= MOST_MISSING:
        # Some servers count reasoning tokens only in the total.
        writes, thought = writes + missing, max(thought, missing)
    cached = inner(raw, "prompt_tokens_details").get("cached_tokens", raw.get("prompt_cache_hit_tokens"))
    written = inner(raw, "prompt_tokens_details").get("cache_write_tokens")
    return disjoint(reads, writes, cache_read=cached, cache_write=written, reasoning=thought)
