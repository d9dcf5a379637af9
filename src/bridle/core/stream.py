"""Types between the loop and a model adapter: the request, tool descriptions, and the stream events of the reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from bridle.core.messages import Messages
from bridle.core.parts import Purpose
from bridle.core.states import ReplyBy, Usage


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
    headers: Mapping[str, str] = {}
    """More headers of the request, where the model is reached over HTTP."""


class Start(msgspec.Struct, frozen=True, tag="start"):
    """The request was accepted."""


class ReasoningStart(msgspec.Struct, frozen=True, tag="reasoning-start"):
    """A thought begins."""


class ReasoningDelta(msgspec.Struct, frozen=True, tag="reasoning-delta"):
    """More of a thought."""

    text: str


class ReasoningEnd(msgspec.Struct, frozen=True, tag="reasoning-end"):
    """A thought ends; `seal` is returned to the provider with it. A sealed thought may have no text."""

    seal: str = ""


class TextStart(msgspec.Struct, frozen=True, tag="text-start"):
    """A text begins."""


class TextDelta(msgspec.Struct, frozen=True, tag="text-delta"):
    """More of a text."""

    text: str


class TextEnd(msgspec.Struct, frozen=True, tag="text-end"):
    """A text ends."""


class ToolInputStart(msgspec.Struct, frozen=True, tag="tool-input-start"):
    """The model begins a tool call."""

    name: str
    id: str


class ToolInputDelta(msgspec.Struct, frozen=True, tag="tool-input-delta"):
    """A piece of the arguments of a tool call, as JSON text."""

    id: str
    text: str


class ToolInputEnd(msgspec.Struct, frozen=True, tag="tool-input-end"):
    """The arguments of a tool call are complete; its `ToolCall` follows."""

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
    by: ReplyBy = "model"


class StreamEnd(msgspec.Struct, frozen=True, tag="finish"):
    """The terminator: without it the stream was cut off."""


class ModelError(msgspec.Struct, frozen=True, tag="error"):
    """The request failed. Adapters never raise; they yield this.

    `retryable` is the adapter's statement on whether the failure may be temporary; without it the status decides.
    """

    message: str
    status: int | None = None
    headers: Mapping[str, str] = {}
    retryable: bool | None = None
    overflow: bool = False
    by: ReplyBy = "model"


TextEvent = TextStart | TextDelta | TextEnd
ReasoningEvent = ReasoningStart | ReasoningDelta | ReasoningEnd
ToolEvent = ToolInputStart | ToolInputDelta | ToolInputEnd | ToolCall | ToolResult | ToolError
StreamEvent = Start | Alive | TextEvent | ReasoningEvent | ToolEvent | StepBegin | StepEnd | StreamEnd | ModelError
"""Everything that the stream of a model may yield."""
EVENT_TYPES = frozenset(get_args(StreamEvent))
"""Looked up before `isinstance`, which compares with one class after the other."""
