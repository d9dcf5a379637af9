"""The request that a model adapter receives, and the stream events that it may yield."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from bridle.core.messages import Messages
from bridle.core.parts import Purpose
from bridle.core.states import Usage


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as described to the model."""

    name: str
    description: str
    schema: Mapping[str, Any]


class ModelRequest(msgspec.Struct, frozen=True):
    """The full content of one request to a model; its id is unique within its session."""

    id: str
    session: str
    purpose: Purpose
    model: str
    system: str
    messages: Messages
    tools: tuple[ToolSpec, ...]
    tool_choice: Literal["auto", "none"]
    max_output_tokens: int
    options: Mapping[str, Any]
    takes: frozenset[str] = frozenset()
    """Inputs that the model accepts besides text."""


class Start(msgspec.Struct, frozen=True, tag="start"):
    """The request was accepted."""


class ReasoningStart(msgspec.Struct, frozen=True, tag="reasoning-start"):
    """A thought begins."""


class ReasoningDelta(msgspec.Struct, frozen=True, tag="reasoning-delta"):
    text: str


class ReasoningEnd(msgspec.Struct, frozen=True, tag="reasoning-end"):
    """A thought ends; `seal` is returned to the provider with it. A sealed thought may have no text."""

    seal: str = ""


class TextStart(msgspec.Struct, frozen=True, tag="text-start"):
    """A text begins."""


class TextDelta(msgspec.Struct, frozen=True, tag="text-delta"):
    text: str


class TextEnd(msgspec.Struct, frozen=True, tag="text-end"):
    """A text ends."""


class ToolInputStart(msgspec.Struct, frozen=True, tag="tool-input-start"):
    name: str
    id: str


class ToolInputDelta(msgspec.Struct, frozen=True, tag="tool-input-delta"):
    id: str
    text: str


class ToolInputEnd(msgspec.Struct, frozen=True, tag="tool-input-end"):
    id: str


class ToolCall(msgspec.Struct, frozen=True, tag="tool-call"):
    """A complete call; `arguments` is the text that the model wrote, valid or not. `written` ones came as text."""

    name: str
    arguments: str
    id: str = ""
    seal: str = ""
    written: bool = False


class ToolResult(msgspec.Struct, frozen=True, tag="tool-result"):
    """The provider ran one of its own tools."""

    id: str
    output: str


class ToolError(msgspec.Struct, frozen=True, tag="tool-error"):
    """One of the provider's own tools failed."""

    id: str
    error: str


class Alive(msgspec.Struct, frozen=True, tag="alive"):
    """An event without content, for example a ping: the connection is alive."""


class StepBegin(msgspec.Struct, frozen=True, tag="start-step"):
    """The reply begins."""


class StepEnd(msgspec.Struct, frozen=True, tag="finish-step"):
    """The provider's usage and finish reason for the reply."""

    finish: str = "stop"
    usage: Usage | None = None


class StreamEnd(msgspec.Struct, frozen=True, tag="finish"):
    """The terminator: without it the stream was cut off."""


class Error(msgspec.Struct, frozen=True, tag="error"):
    """The request failed. Adapters never raise; they yield this.

    `retryable` is the adapter's statement on whether the failure may be temporary; without it the status decides.
    """

    message: str
    status: int | None = None
    headers: Mapping[str, str] = {}
    retryable: bool | None = None
    overflow: bool = False


TextEvent = TextStart | TextDelta | TextEnd
ReasoningEvent = ReasoningStart | ReasoningDelta | ReasoningEnd
ToolEvent = ToolInputStart | ToolInputDelta | ToolInputEnd | ToolCall | ToolResult | ToolError
StreamEvent = Start | Alive | TextEvent | ReasoningEvent | ToolEvent | StepBegin | StepEnd | StreamEnd | Error
