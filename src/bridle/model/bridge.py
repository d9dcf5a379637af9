"""Adapter to pydantic-ai, for all providers without an adapter here: slower to load, and maintained by others."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec
from pydantic_ai import exceptions as failures, messages as theirs
from pydantic_ai.models import Model as TheirModel, ModelRequestParameters, StreamedResponse, infer_model
from pydantic_ai.providers import Provider as TheirProvider, infer_provider, infer_provider_class
from pydantic_ai.tools import ToolDefinition

from bridle.core import messages, stream
from bridle.core.agent import ModelInfo
from bridle.core.messages import AssistantBlock, Message
from bridle.core.stream import ModelError, ModelRequest, StreamEvent
from bridle.errors import ConfigError
from bridle.model.catalog import model_info
from bridle.model.http import EXHAUSTED, OVERFLOW
from bridle.model.request_body import wire_id, wire_name
from bridle.model.server_json import disjoint

NAMES = {"amazon-bedrock": "bedrock", "google-vertex": "google-cloud", "togetherai": "together"}
"""pydantic-ai's names of providers, where they differ from models.dev."""
FINISH = {"stop": "stop", "length": "length", "content_filter": "content_filter", "tool_call": "tool_calls"}
SEALED = ("id", "signature", "provider_name", "provider_details")


def bridged(ref: str, key: str | None = None, secrets: tuple[str, ...] = ()) -> tuple[BridgeModel, ModelInfo]:
    """Return a model of a provider that no native wire supports; raises `ConfigError`."""
    provider, _, name = ref.partition("/")
    there = NAMES.get(provider, provider)
    try:
        model = infer_model(f"{there}:{name}", provider_factory=_with(key))
    except (failures.UserError, ValueError, ImportError) as error:
        raise ConfigError(f"{ref} is not available: {' '.join(str(error).split())}") from error
    info = model_info(provider, name, there)
    return BridgeModel(model, info, secrets=(*secrets, key) if key else secrets), info


def _with(key: str | None) -> Callable[[str], TheirProvider[Any]]:
    def make(name: str) -> TheirProvider[Any]:
        kind: Any = infer_provider_class(name)
        return kind(api_key=key) if key is not None else infer_provider(name)

    return make


class BridgeModel:
    """A pydantic-ai model. See `Model`. Its own retries are off: `turn.send_request` does them."""

    def __init__(self, model: TheirModel, info: ModelInfo, *, secrets: tuple[str, ...] = ()) -> None:
        self.info = info
        self._model = model
        self._secrets = secrets
        self._entered = False

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        if self._entered:
            self._entered = False
            await self._model.__aexit__(None, None, None)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        form = request.messages.form(f"bridge {request.model}", lambda: _Form(request.model, request.takes))
        parameters = ModelRequestParameters(
            function_tools=[
                ToolDefinition(
                    name=spec.name,
                    parameters_json_schema=dict(spec.schema),
                    description=spec.description,
                    strict=False,
                )
                for spec in request.tools
            ],
            allow_text_output=True,
        )
        settings: Any = {**request.options, "max_tokens": request.max_output_tokens, "max_retries": 0}
        if request.tools:
            settings["tool_choice"] = request.tool_choice
        try:
            if not self._entered:
                self._entered = True
                await self._model.__aenter__()
            async with self._model.request_stream(form.with_system(request.system), settings, parameters) as replying:
                yield stream.Start()
                yield stream.StepBegin()
                async for event in replying:
                    for told in _events(event):
                        yield told
                for told in _ending(replying):
                    yield told
        except failures.ContentFilterError:
            yield stream.StepEnd("content_filter", None)
            yield stream.StreamEnd()
        except Exception as error:
            # Each provider library raises its own exceptions; all become an event.
            yield self._clean(failure(error))

    def _clean(self, error: ModelError) -> ModelError:
        message = error.message
        for secret in self._secrets:
            message = message.replace(secret, "[key]")
        return msgspec.structs.replace(error, message=message[:1_000])


def failure(error: Exception) -> ModelError:
    """Return the `ModelError` event for an exception, and whether to retry."""
    words = f"{type(error).__name__}: {' '.join(str(error).split())}"
    status = getattr(error, "status_code", None)
    wait = getattr(error, "retry_after", None)
    headers = {"retry-after": str(wait)} if isinstance(wait, (int, float)) else {}
    status = status if isinstance(status, int) else None
    if isinstance(error, failures.ModelContextWindowExceededError) or (status in (400, 413) and OVERFLOW.search(words)):
        return ModelError(words, status, headers, retryable=False, overflow=True)
    if isinstance(error, failures.ModelQuotaExceededError) or EXHAUSTED.search(words):
        return ModelError(words, status, headers, retryable=False)
    passes = isinstance(
        error,
        (
            failures.ModelRateLimitError,
            failures.ModelUnavailableError,
            failures.ModelServerError,
            failures.ModelConnectionError,
            failures.ModelRequestTimeout,
            failures.UnexpectedModelBehavior,
            ConnectionError,
            TimeoutError,
        ),
    )
    return ModelError(words, status, headers, retryable=True if passes else None if status is not None else False)


def _events(event: Any) -> Iterator[StreamEvent]:
    match event:
        case theirs.PartStartEvent(index=index, part=part):
            yield from _started(index, part)
        case theirs.PartDeltaEvent(index=index, delta=delta):
            yield from _grown(index, delta)
        case theirs.PartEndEvent(index=index, part=part):
            yield from _ended(index, part)


def _started(index: int, part: Any) -> Iterator[StreamEvent]:
    match part:
        case theirs.TextPart():
            yield stream.TextStart()
            if part.content:
                yield stream.TextDelta(part.content)
        case theirs.ThinkingPart():
            yield stream.ReasoningStart()
            if part.content:
                yield stream.ReasoningDelta(part.content)
        case theirs.ToolCallPart():
            yield stream.ToolInputStart(part.tool_name, str(index))
            if isinstance(part.args, str) and part.args:
                yield stream.ToolInputDelta(str(index), part.args)


def _grown(index: int, delta: Any) -> Iterator[StreamEvent]:
    match delta:
        case theirs.TextPartDelta():
            yield stream.TextDelta(delta.content_delta)
        case theirs.ThinkingPartDelta():
            if delta.content_delta:
                yield stream.ReasoningDelta(delta.content_delta)
        case theirs.ToolCallPartDelta():
            if isinstance(delta.args_delta, str):
                yield stream.ToolInputDelta(str(index), delta.args_delta)


def _ended(index: int, part: Any) -> Iterator[StreamEvent]:
    match part:
        case theirs.TextPart():
            yield stream.TextEnd()
        case theirs.ThinkingPart():
            yield stream.ReasoningEnd(_sealed(part))
        case theirs.ToolCallPart():
            arguments = part.args if isinstance(part.args, str) else part.args_as_json_str()
            yield stream.ToolInputEnd(str(index))
            yield stream.ToolCall(part.tool_name, arguments, str(index), _sealed(part))


def _ending(reply: StreamedResponse) -> Iterator[StreamEvent]:
    """Yield finish reason and usage; nothing if the stream was cut off, i.e. has no finish reason."""
    if reply.finish_reason is None:
        return
    if reply.finish_reason == "error":
        yield ModelError("the provider failed in the middle of its reply", retryable=True)
        return
    counts = reply.usage() if callable(reply.usage) else reply.usage
    usage = disjoint(
        counts.input_tokens or None,
        counts.output_tokens or None,
        cache_read=counts.cache_read_tokens,
        cache_write=counts.cache_write_tokens,
        reasoning=getattr(counts, "output_reasoning_tokens", 0),
    )
    yield stream.StepEnd(FINISH.get(reply.finish_reason, "unknown"), usage)
    yield stream.StreamEnd()


def _sealed(part: Any) -> str:
    """Return the data that the provider expects back with a part, as JSON for the journal."""
    kept = {name: value for name in SEALED if (value := getattr(part, name, None)) is not None}
    return msgspec.json.encode(kept, enc_hook=str).decode() if kept else ""


class _Form:
    """Messages in pydantic-ai's classes, with adjacent results and prompts in one request. See `Form`."""

    def __init__(self, model: str, takes: frozenset[str]) -> None:
        self.count = 0
        self._takes = takes
        self._model = model
        self._messages: list[theirs.ModelMessage] = []

    def with_system(self, system: str) -> list[theirs.ModelMessage]:
        """Return all messages with the system prompt in the last one, the only one that is used."""
        *before, last = self._messages
        assert isinstance(last, theirs.ModelRequest)
        return [*before, theirs.ModelRequest(last.parts, instructions=system or None)]

    def add(self, message: Message) -> None:
        match message:
            case messages.AssistantMessage():
                own = message.model == self._model
                parts = [part for block in message.blocks for part in _block(block, own=own)]
                self._messages.append(theirs.ModelResponse(parts))
            case messages.UserMessage():
                self._say(theirs.UserPromptPart(_content(message, self._takes)))
            case messages.ResultMessage():
                self._say(theirs.ToolReturnPart(wire_name(message.name), message.text, wire_id(message.call)))

    def _say(self, part: theirs.ModelRequestPart) -> None:
        last = self._messages[-1] if self._messages else None
        if isinstance(last, theirs.ModelRequest):
            self._messages[-1] = theirs.ModelRequest([*last.parts, part])
        else:
            self._messages.append(theirs.ModelRequest([part]))


def _content(message: messages.UserMessage, takes: frozenset[str]) -> Any:
    text, seen = message.seen_by(takes)
    if not seen:
        return text
    files = [theirs.BinaryContent(base64.b64decode(attached.data), media_type=attached.media) for attached in seen]
    return [text, *files]


def _block(block: AssistantBlock, *, own: bool) -> Iterator[theirs.ModelResponsePart]:
    seal = getattr(block, "seal", "")
    kept = msgspec.json.decode(seal) if own and seal else {}
    match block:
        case messages.AssistantText():
            if block.text.strip():
                yield theirs.TextPart(block.text)
        case messages.Thought():
            if own:
                yield theirs.ThinkingPart(block.text, **kept)
        case messages.CallMessage():
            kept.pop("signature", None)
            yield theirs.ToolCallPart(wire_name(block.name), block.arguments, wire_id(block.id), **kept)
