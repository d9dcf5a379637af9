"""`Wire`: encodes scripted replies as a provider's event stream; a subclass per API names its path and validator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from bridle.core import stream
from bridle.core.states import Usage
from bridle.core.stream import StreamEvent
from bridle.testing.validators import problems_in_chat, problems_in_messages, problems_in_responses


class Wire(ABC):
    """Encoder of one reply in the format of one provider."""

    path: ClassVar[str]
    problems: ClassVar[staticmethod[[Mapping[str, Any]], list[str]]]
    """Returns all problems for which the provider would refuse the body of a request."""

    def __init__(self, model: str = "scripted") -> None:
        self._model = model
        self._index = -1

    @abstractmethod
    def data(self, event: StreamEvent) -> Iterator[bytes]:
        """Yield the server-sent events for one event, each with its blank line."""

    def _sent(self, kind: str, **fields: Any) -> bytes:
        return sent({"type": kind, **fields}, kind)


def sent(value: Any, name: str = "") -> bytes:
    """Return one server-sent event with a text or a JSON value."""
    content = value.encode() if isinstance(value, str) else msgspec.json.encode(value)
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + content + b"\n\n"


class ChatWire(Wire):
    """OpenAI's chat completions API."""

    path = "/chat/completions"
    problems = staticmethod(lambda body: problems_in_chat(body.get("messages") or [], body))

    def data(self, event: StreamEvent) -> Iterator[bytes]:
        match event:
            case stream.TextDelta(text):
                yield self._choice({"content": text})
            case stream.ReasoningDelta(text):
                yield self._choice({"reasoning_content": text})
            case stream.ToolCall(name, arguments, id):
                self._index += 1
                function = {"name": name, "arguments": arguments}
                made = {"index": self._index, "id": id, "type": "function", "function": function}
                yield self._choice({"tool_calls": [made]})
            case stream.StepEnd(finish, usage):
                yield self._choice({}, finish)
                if usage is not None:
                    yield self._chunk({"choices": [], "usage": chat_usage(usage)})
            case stream.StreamEnd():
                yield sent("[DONE]")
            case stream.ModelError(message):
                yield sent({"error": {"message": message}})

    def _chunk(self, fields: Mapping[str, Any]) -> bytes:
        return sent({"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "model": self._model, **fields})

    def _choice(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        return self._chunk({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}


class MessagesWire(Wire):
    """Anthropic's messages API."""

    path = "/messages"
    problems = staticmethod(problems_in_messages)

    def data(self, event: StreamEvent) -> Iterator[bytes]:
        match event:
            case stream.Start():
                message = {"id": "msg_scripted", "type": "message", "role": "assistant", "model": self._model}
                yield self._sent("message_start", message={**message, "content": [], "usage": {"output_tokens": 1}})
            case stream.TextStart():
                yield self._begin({"type": "text", "text": ""})
            case stream.ReasoningStart():
                yield self._begin({"type": "thinking", "thinking": "", "signature": ""})
            case stream.TextDelta(text):
                yield self._delta({"type": "text_delta", "text": text})
            case stream.ReasoningDelta(text):
                yield self._delta({"type": "thinking_delta", "thinking": text})
            case stream.ReasoningEnd(seal):
                yield self._delta({"type": "signature_delta", "signature": seal or f"signed-{self._index}"})
                yield self._stop()
            case stream.TextEnd():
                yield self._stop()
            case stream.ToolCall(name, arguments, id):
                yield self._begin({"type": "tool_use", "id": id, "name": name, "input": {}})
                yield self._delta({"type": "input_json_delta", "partial_json": arguments})
                yield self._stop()
            case stream.StepEnd(finish, usage):
                counts = messages_usage(usage) if usage is not None else {}
                stop = STOP_REASONS.get(finish, finish)
                yield self._sent("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=counts)
            case stream.StreamEnd():
                yield self._sent("message_stop")
            case stream.ModelError(message):
                yield self._sent("error", error={"type": "api_error", "message": message})

    def _begin(self, block: Mapping[str, Any]) -> bytes:
        self._index += 1
        return self._sent("content_block_start", index=self._index, content_block=block)

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        return self._sent("content_block_delta", index=self._index, delta=delta)

    def _stop(self) -> bytes:
        return self._sent("content_block_stop", index=self._index)


class ResponsesWire(Wire):
    """OpenAI's responses API."""

    path = "/responses"
    problems = staticmethod(problems_in_responses)
    _final: Mapping[str, Any] = {}

    def data(self, event: StreamEvent) -> Iterator[bytes]:
        match event:
            case stream.Start():
                yield self._sent("response.created", response={"id": "resp_scripted", "status": "in_progress"})
            case stream.TextStart():
                yield self._begin({"type": "message", "role": "assistant", "content": []})
            case stream.ReasoningStart():
                yield self._begin({"type": "reasoning", "summary": []})
            case stream.TextDelta(text):
                yield self._sent("response.output_text.delta", output_index=self._index, delta=text)
            case stream.ReasoningDelta(text):
                yield self._sent("response.reasoning_summary_text.delta", output_index=self._index, delta=text)
            case stream.ReasoningEnd():
                item = {"type": "reasoning", "id": f"rs_{self._index}", "encrypted_content": f"sealed-{self._index}"}
                yield self._end(item)
            case stream.TextEnd():
                yield self._end({"type": "message", "role": "assistant"})
            case stream.ToolCall(name, arguments, id):
                yield self._begin({"type": "function_call", "call_id": id, "name": name, "arguments": ""})
                yield self._sent("response.function_call_arguments.delta", output_index=self._index, delta=arguments)
                yield self._end({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
            case stream.StepEnd(finish, usage):
                self._final = {"id": "resp_scripted", "status": "completed"}
                if finish in ("length", "content_filter"):
                    reason = "max_output_tokens" if finish == "length" else finish
                    self._final = {**self._final, "status": "incomplete", "incomplete_details": {"reason": reason}}
                if usage is not None:
                    self._final = {**self._final, "usage": responses_usage(usage)}
            case stream.StreamEnd():
                yield self._sent(f"response.{self._final['status']}", response=self._final)
            case stream.ModelError(message):
                failed = {"status": "failed", "error": {"code": "server_error", "message": message}}
                yield self._sent("response.failed", response=failed)

    def _begin(self, item: Mapping[str, Any]) -> bytes:
        self._index += 1
        return self._sent("response.output_item.added", output_index=self._index, item=item)

    def _end(self, item: Mapping[str, Any]) -> bytes:
        return self._sent("response.output_item.done", output_index=self._index, item=item)


WIRES: tuple[type[Wire], ...] = (ChatWire, MessagesWire, ResponsesWire)


def chat_usage(usage: Usage) -> dict[str, Any]:
    """Return token counts in the format of the chat API: totals, and their breakdown."""
    reads = usage.input + usage.cache_read + usage.cache_write
    writes = usage.output + usage.reasoning
    return {
        "prompt_tokens": reads,
        "completion_tokens": writes,
        "total_tokens": reads + writes,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def messages_usage(usage: Usage) -> dict[str, Any]:
    """Return token counts in Anthropic's format: disjoint, except that output includes thinking."""
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output + usage.reasoning,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
    }


def responses_usage(usage: Usage) -> dict[str, Any]:
    """Return token counts in the format of the responses API: totals, and their breakdown."""
    reads = usage.input + usage.cache_read + usage.cache_write
    return {
        "input_tokens": reads,
        "output_tokens": usage.output + usage.reasoning,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
