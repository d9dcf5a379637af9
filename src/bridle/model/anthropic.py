"""`AnthropicModel`: adapter for the Messages API, with request JSON, cache marks and reply parser; `http` sends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bridle.core import messages, stream
from bridle.core.messages import AssistantBlock, Message
from bridle.core.states import Usage
from bridle.core.stream import ModelRequest, StreamEvent, ToolSpec
from bridle.model.http import failure
from bridle.model.request_body import request_body, wire_id, wire_name
from bridle.model.server_json import count_of, decoded, inner, json_text
from bridle.model.wire_model import StreamedReply, WireModel

FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
LEAST_BUDGET = 1_024
CACHED = {"type": "ephemeral"}


class AnthropicModel(WireModel):
    """A model behind the Messages API. See `Model`."""

    path = "/messages"

    def body(self, request: ModelRequest) -> bytes:
        form = request.messages.form(f"messages {request.model}", lambda: TurnForm(request.model, request.takes))
        head: dict[str, Any] = {"model": self.name}
        if request.tools:
            head["tools"] = self.tools(request.tools)
        elif form.tools:
            # Tools called in the history must be declared, even if they can no longer be called.
            head["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in sorted(form.tools)]
        if request.system.strip():
            # Tools precede the system prompt in the cache, so this mark covers both.
            head["system"] = [{"type": "text", "text": request.system, "cache_control": CACHED}]
        fixed: dict[str, Any] = {"stream": True, "max_tokens": request.max_output_tokens}
        if "tools" in head:
            fixed["tool_choice"] = {"type": request.tool_choice if request.tools else "none"}
        options = {"cache_control": CACHED, **request.options} if self.quirks.caches_requests else request.options
        return request_body(head, "messages", form.closed(), fixed, _fitting(options, request.max_output_tokens))

    def reply(self) -> StreamedReply:
        return AnthropicReply()

    def tool(self, spec: ToolSpec) -> dict[str, Any]:
        return {"name": spec.name, "description": spec.description, "input_schema": spec.schema}


def _fitting(options: Mapping[str, Any], most: int) -> Mapping[str, Any]:
    """Lower the thinking budget to fit the output limit; otherwise the API refuses the request."""
    thinking = options.get("thinking")
    budget = count_of(thinking.get("budget_tokens")) if isinstance(thinking, Mapping) else None
    if budget is None or budget < most:
        return options
    if most < 2 * LEAST_BUDGET:
        return {key: value for key, value in options.items() if key != "thinking"}
    return {**options, "thinking": {**options["thinking"], "budget_tokens": most // 2}}


class TurnForm:
    """Messages in this wire's JSON: user and assistant alternate, tool results precede other user content."""

    def __init__(self, model: str, takes: frozenset[str] = frozenset()) -> None:
        self.count = 0
        self._takes = takes
        self.items = bytearray()
        self.tools: set[str] = set()
        """The names of all tools called so far."""
        self._model = model
        self._role = ""

    def add(self, message: Message) -> None:
        role = "assistant" if isinstance(message, messages.AssistantMessage) else "user"
        for block in self._blocks(message):
            if role == self._role:
                self.items += b","
            else:
                self.items += f'{"]}," if self._role else ""}{{"role":"{role}","content":['.encode()
                self._role = role
            self.items += msgspec.json.encode(block)

    def closed(self) -> bytes:
        """Return all messages so far; the last one can still be extended by the same role."""
        return b"".join((self.items, b"]}" if self._role else b""))

    def _blocks(self, message: Message) -> Iterator[dict[str, Any]]:
        match message:
            case messages.UserMessage():
                text, seen = message.seen_by(self._takes)
                if text.strip():
                    yield {"type": "text", "text": text}
                yield from (_attachment(attached) for attached in seen)
            case messages.ResultMessage():
                result: dict[str, Any] = {"type": "tool_result", "tool_use_id": wire_id(message.call)}
                if message.text.strip():
                    result["content"] = message.text
                if message.failed:
                    result["is_error"] = True
                yield result
            case messages.AssistantMessage():
                for block in message.blocks:
                    yield from self._block(block, own=message.model == self._model)

    def _block(self, block: AssistantBlock, *, own: bool) -> Iterator[dict[str, Any]]:
        match block:
            case messages.AssistantText():
                if block.text.strip():
                    yield {"type": "text", "text": block.text}
            case messages.Thought():
                # Only complete thoughts are sent back, and only to the model that signed them.
                if own and block.seal:
                    sealed = msgspec.json.decode(block.seal)
                    match sealed:
                        case {"type": "thinking"}:
                            yield {**sealed, "thinking": block.text}
                        case {"type": "redacted_thinking"}:
                            yield sealed
            case messages.CallMessage():
                name = wire_name(block.name)
                self.tools.add(name)
                arguments = msgspec.Raw(block.arguments.encode())
                yield {"type": "tool_use", "id": wire_id(block.id), "name": name, "input": arguments}


def _attachment(attached: messages.Attachment) -> dict[str, Any]:
    kind = "image" if attached.media.startswith("image/") else "document"
    source = {"type": "base64", "media_type": attached.media, "data": attached.data}
    return {"type": kind, "source": source}


class _Event(msgspec.Struct, kw_only=True):
    type: str = ""
    index: int = 0
    message: Any = None
    content_block: dict[str, Any] | None = None
    delta: dict[str, Any] | None = None
    usage: Any = None
    error: Any = None


@dataclass(slots=True)
class _Block:
    kind: str
    name: str = ""
    given: Any = None
    seal: str = ""
    pieces: list[str] = field(default_factory=list)


_events = msgspec.json.Decoder(_Event)


class AnthropicReply:
    """Parser of one streamed reply. See `StreamedReply`."""

    def __init__(self) -> None:
        self.done = False
        self.failed = False
        self._blocks: dict[int, _Block] = {}
        self._finish = ""
        self._counts: dict[str, Any] = {}

    def read(self, data: bytes) -> Iterator[StreamEvent]:
        event = decoded(_events, data)
        match event.type:
            case "content_block_start":
                yield from self._start(event.index, event.content_block or {})
            case "content_block_delta":
                yield from self._delta(event.index, event.delta or {})
            case "content_block_stop":
                yield from self._stop(event.index)
            case "message_start":
                self._count(inner(event.message, "usage"))
            case "message_delta":
                self._finish = str((event.delta or {}).get("stop_reason") or self._finish)
                self._count(event.usage)
            case "message_stop":
                self.done = True
            case "error":
                self.failed = True
                yield failure({"error": event.error or event.message or "the provider gave no reason"})

    def _count(self, usage: Any) -> None:
        """Record token counts; later counts replace earlier ones."""
        if isinstance(usage, dict):
            self._counts.update({key: value for key, value in usage.items() if value is not None})

    def _start(self, index: int, block: dict[str, Any]) -> Iterator[StreamEvent]:
        kind = str(block.get("type"))
        # A reused index means that the end of the previous block was lost.
        yield from self._stop(index)
        opened = self._blocks[index] = _Block(kind, str(block.get("name") or ""), block.get("input"))
        match kind:
            case "text":
                yield stream.TextStart()
                if words := block.get("text"):
                    yield stream.TextDelta(str(words))
            case "thinking":
                yield stream.ReasoningStart()
                if words := block.get("thinking"):
                    yield stream.ReasoningDelta(str(words))
            case "redacted_thinking":
                opened.seal = str(block.get("data") or "")
                yield stream.ReasoningStart()
            case "tool_use":
                yield stream.ToolInputStart(opened.name, str(index))

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[StreamEvent]:
        block = self._blocks.get(index)
        match delta.get("type"):
            case "text_delta":
                yield stream.TextDelta(str(delta.get("text") or ""))
            case "thinking_delta":
                yield stream.ReasoningDelta(str(delta.get("thinking") or ""))
            case "signature_delta":
                if block is not None:
                    block.seal += str(delta.get("signature") or "")
            case "input_json_delta":
                if block is not None:
                    piece = str(delta.get("partial_json") or "")
                    block.pieces.append(piece)
                    yield stream.ToolInputDelta(str(index), piece)

    def _stop(self, index: int) -> Iterator[StreamEvent]:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        match block.kind:
            case "text":
                yield stream.TextEnd()
            case "thinking":
                yield stream.ReasoningEnd(_sealed("thinking", "signature", block.seal))
            case "redacted_thinking":
                yield stream.ReasoningEnd(_sealed("redacted_thinking", "data", block.seal))
            case "tool_use":
                text = "".join(block.pieces)
                if not text and block.given:
                    text = json_text(block.given)
                yield stream.ToolInputEnd(str(index))
                yield stream.ToolCall(block.name, text, str(index))

    def end(self) -> Iterator[StreamEvent]:
        if self.failed or not self.done:
            return
        for index in sorted(self._blocks):
            yield from self._stop(index)
        yield stream.StepEnd(FINISH.get(self._finish, "unknown"), usage_of(self._counts))
        yield stream.StreamEnd()


def _sealed(kind: str, field: str, seal: str) -> str:
    return json_text({"type": kind, field: seal}) if seal else ""


def usage_of(raw: Mapping[str, Any]) -> Usage | None:
    """Return token usage from this wire's counts, which are already disjoint; None if unknown."""
    reads, writes = count_of(raw.get("input_tokens")), count_of(raw.get("output_tokens"))
    if reads is None or writes is None:
        return None
    cached, written = count_of(raw.get("cache_read_input_tokens")), count_of(raw.get("cache_creation_input_tokens"))
    return Usage(reads, writes, 0, cached or 0, written or 0)
