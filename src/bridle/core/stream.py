"""The stream events that a model adapter may yield, and the request that it gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from bridle.core.messages import Messages
from bridle.core.parts import Purpose
from bridle.core.states import Usage


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model is told of it."""

    name: str
    description: str
    schema: Mapping[str, Any]


class ModelRequest(msgspec.Struct, frozen=True):
    """Everything that one request says to a model; its id is unique within its session."""

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
    """What the model can look at besides text."""


class Start(msgspec.Struct, frozen=True, tag="start"):
    pass


class ReasoningStart(msgspec.Struct, frozen=True, tag="reasoning-start"):
    pass


class ReasoningDelta(msgspec.Struct, frozen=True, tag="reasoning-delta"):
    text: str


class ReasoningEnd(msgspec.Struct, frozen=True, tag="reasoning-end"):
    """A thought is over; `seal` is what the provider wants back with it, and a sealed thought may have no words."""

    seal: str = ""


class TextStart(msgspec.Struct, frozen=True, tag="text-start"):
    pass


class TextDelta(msgspec.Struct, frozen=True, tag="text-delta"):
    text: str


class TextEnd(msgspec.Struct, frozen=True, tag="text-end"):
    pass


class ToolInputStart(msgspec.Struct, frozen=True, tag="tool-input-start"):
    name: str
    id: str


class ToolInputDelta(msgspec.Struct, frozen=True, tag="tool-input-delta"):
    id: str
    text: str


class ToolInputEnd(msgspec.Struct, frozen=True, tag="tool-input-end"):
    id: str


class ToolCall(msgspec.Struct, frozen=True, tag="tool-call"):
    """A whole call; `arguments` is the text that the model wrote, sound or not. `written` ones came as text."""

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
    """Something came that says nothing, such as a ping: the other side is still there."""


class StepBegin(msgspec.Struct, frozen=True, tag="start-step"):
    pass


class StepEnd(msgspec.Struct, frozen=True, tag="finish-step"):
    """The provider's account of the reply."""

    finish: str = "stop"
    usage: Usage | None = None


class StreamEnd(msgspec.Struct, frozen=True, tag="finish"):
    """The terminator: without it the stream was cut off."""


class Error(msgspec.Struct, frozen=True, tag="error"):
    """The request failed. Adapters never raise: this is how failure arrives.

    `retryable` is the adapter's word on whether it may pass by itself; without one the status decides.
    """

    message: str
    status: int | None = None
    headers: Mapping[str, str] = {}
    retryable: bool | None = None
    overflow: bool = False


StreamEvent = (
    Start
    | Alive
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | TextStart
    | TextDelta
    | TextEnd
    | ToolInputStart
    | ToolInputDelta
    | ToolInputEnd
    | ToolCall
    | ToolResult
    | ToolError
    | StepBegin
    | StepEnd
    | StreamEnd
    | Error
)
