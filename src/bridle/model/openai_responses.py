"""`ResponsesModel`: adapter for OpenAI's Responses API, which stores nothing there, with reply parser; `http` sends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bridle.core import messages, stream
from bridle.core.messages import AssistantBlock, Message
from bridle.core.states import Usage
from bridle.core.stream import ModelError, ModelRequest, StreamEvent, ToolSpec
from bridle.model.http import failure
from bridle.model.request_body import JsonForm, data_address, request_body, wire_id, wire_name
from bridle.model.server_json import decoded, disjoint, inner, json_text
from bridle.model.wire_model import StreamedReply, WireModel

INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}
PARAGRAPH = "\n\n"


class ResponsesModel(WireModel):
    """A model behind the Responses API. See `Model`."""

    path = "/responses"

    def body(self, request: ModelRequest) -> bytes:
        form = request.messages.form(
            f"responses {request.model}", lambda: JsonForm(ItemForms(request.model, request.takes).of)
        )
        head: dict[str, Any] = {"model": self.name}
        if request.system:
            head["instructions"] = request.system
        if request.tools:
            head["tools"] = self.tools(request.tools)
        fixed: dict[str, Any] = {"stream": True, "store": False, "max_output_tokens": request.max_output_tokens}
        if request.tools:
            fixed["tool_choice"] = request.tool_choice
        options: dict[str, Any] = {"prompt_cache_key": request.session}
        if self.info.reasons:
            # The server stores nothing, so it returns encrypted reasoning, which the next request sends back.
            options["include"] = ["reasoning.encrypted_content"]
        return request_body(head, "input", form.closed(), fixed, {**options, **request.options})

    def reply(self) -> StreamedReply:
        return ResponsesReply()

    def tool(self, spec: ToolSpec) -> dict[str, Any]:
        form = {"type": "function", "name": spec.name, "description": spec.description, "parameters": spec.schema}
        # Strict schemas would forbid optional arguments.
        return {**form, "strict": False}


@dataclass(frozen=True, slots=True)
class ItemForms:
    """Converts messages to this wire's items. Reasoning goes back only to the model that wrote it, in its position."""

    model: str = ""
    takes: frozenset[str] = frozenset()

    def of(self, message: Message) -> Iterator[dict[str, Any]]:
        match message:
            case messages.UserMessage():
                text, seen = message.seen_by(self.takes)
                content: list[dict[str, Any]] = [{"type": "input_text", "text": text}] if text or not seen else []
                content += [_attachment(attached) for attached in seen]
                yield {"role": "user", "content": content}
            case messages.ResultMessage():
                yield {"type": "function_call_output", "call_id": wire_id(message.call), "output": message.text}
            case messages.AssistantMessage():
                for block in message.blocks:
                    yield from self._item(block, own=message.model == self.model)

    def _item(self, block: AssistantBlock, *, own: bool) -> Iterator[dict[str, Any]]:
        match block:
            case messages.AssistantText():
                if block.text.strip():
                    said = {"type": "output_text", "text": block.text}
                    yield {"type": "message", "role": "assistant", "content": [said]}
            case messages.Thought():
                if own and block.seal:
                    summary = [{"type": "summary_text", "text": block.text}] if block.text else []
                    sealed = msgspec.json.decode(block.seal)
                    if isinstance(sealed, dict) and "encrypted_content" in sealed:
                        yield {"type": "reasoning", "summary": summary, **sealed}
            case messages.CallMessage():
                yield {
                    "type": "function_call",
                    "call_id": wire_id(block.id),
                    "name": wire_name(block.name),
                    "arguments": block.arguments,
                }


def _attachment(attached: messages.Attachment) -> dict[str, Any]:
    address = data_address(attached.media, attached.data)
    if attached.media.startswith("image/"):
        return {"type": "input_image", "image_url": address}
    return {"type": "input_file", "filename": attached.name, "file_data": address}


class _Event(msgspec.Struct, kw_only=True):
    type: str = ""
    output_index: int = 0
    item: dict[str, Any] | None = None
    delta: Any = None
    response: dict[str, Any] | None = None
    message: Any = None
    code: Any = None
    error: Any = None


@dataclass(slots=True)
class _Item:
    kind: str
    name: str = ""
    pieces: list[str] = field(default_factory=list)


_events = msgspec.json.Decoder(_Event)


class ResponsesReply:
    """Parser of one streamed reply. See `StreamedReply`."""

    def __init__(self) -> None:
        self.done = False
        self.failed = False
        self._items: dict[int, _Item] = {}
        self._final: dict[str, Any] = {}
        self._calls = 0

    def read(self, data: bytes) -> Iterator[StreamEvent]:
        if data.strip() == b"[DONE]":
            return
        event = decoded(_events, data)
        match event.type:
            case "response.output_text.delta" | "response.refusal.delta":
                yield from self._open(event.output_index, "message")
                yield stream.TextDelta(str(event.delta or ""))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._open(event.output_index, "reasoning")
                yield stream.ReasoningDelta(str(event.delta or ""))
            case "response.reasoning_summary_part.added":
                item = self._items.get(event.output_index)
                if item is not None and item.pieces:
                    yield stream.ReasoningDelta(PARAGRAPH)
                if item is not None:
                    item.pieces.append("")
            case "response.function_call_arguments.delta":
                yield from self._argument(event.output_index, str(event.delta or ""))
            case "response.output_item.added":
                item_form = event.item or {}
                yield from self._open(event.output_index, str(item_form.get("type")), str(item_form.get("name") or ""))
            case "response.output_item.done":
                yield from self._close(event.output_index, event.item or {})
            case "response.completed" | "response.incomplete" | "response.done":
                self._final = event.response or {}
                self.done = True
            case "response.failed" | "error":
                self.failed = True
                yield _failed(event)

    def _open(self, index: int, kind: str, name: str = "") -> Iterator[StreamEvent]:
        if index in self._items:
            return
        self._items[index] = _Item(kind, name)
        match kind:
            case "message":
                yield stream.TextStart()
            case "reasoning":
                yield stream.ReasoningStart()
            case "function_call":
                yield stream.ToolInputStart(name, str(index))

    def _argument(self, index: int, piece: str) -> Iterator[StreamEvent]:
        yield from self._open(index, "function_call")
        self._items[index].pieces.append(piece)
        yield stream.ToolInputDelta(str(index), piece)

    def _close(self, index: int, form: dict[str, Any]) -> Iterator[StreamEvent]:
        yield from self._open(index, str(form.get("type")), str(form.get("name") or ""))
        item = self._items.pop(index)
        match item.kind:
            case "message":
                yield stream.TextEnd()
            case "reasoning":
                yield stream.ReasoningEnd(_sealed(form))
            case "function_call":
                arguments = form.get("arguments")
                text = arguments if isinstance(arguments, str) and arguments else "".join(item.pieces)
                self._calls += 1
                yield stream.ToolInputEnd(str(index))
                yield stream.ToolCall(str(form.get("name") or item.name), text, str(index))

    def end(self) -> Iterator[StreamEvent]:
        if self.failed or not self.done:
            return
        for index in sorted(self._items):
            yield from self._close(index, {})
        yield stream.StepEnd(self._finish(), usage_of(self._final.get("usage")))
        yield stream.StreamEnd()

    def _finish(self) -> str:
        status = self._final.get("status")
        if status == "incomplete":
            return INCOMPLETE.get(str(inner(self._final, "incomplete_details").get("reason")), "unknown")
        if self._calls:
            return "tool_calls"
        return "stop" if status in ("completed", None) else "unknown"


def _sealed(form: dict[str, Any]) -> str:
    content = form.get("encrypted_content")
    if not isinstance(content, str) or not content:
        return ""
    return json_text({"id": str(form.get("id") or ""), "encrypted_content": content})


def _failed(event: _Event) -> ModelError:
    response = event.response or {}
    found = response.get("error") or event.error or {"message": event.message, "code": event.code}
    if not found or found == {"message": None, "code": None}:
        found = "the provider gave no reason"
    return failure({"error": found})


def usage_of(raw: Any) -> Usage | None:
    """Return token usage from this wire's counts, where cached and reasoning tokens are counted twice."""
    if not isinstance(raw, Mapping):
        return None
    return disjoint(
        raw.get("input_tokens"),
        raw.get("output_tokens"),
        cache_read=inner(raw, "input_tokens_details").get("cached_tokens"),
        reasoning=inner(raw, "output_tokens_details").get("reasoning_tokens"),
    )
