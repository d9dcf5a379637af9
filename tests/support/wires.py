"""A model of each wire, talking to a server on loopback."""

from typing import Any

import msgspec

from bridle.core.agent import ModelInfo
from bridle.core.stream import ModelRequest
from bridle.model.anthropic import AnthropicModel
from bridle.model.http import Lane
from bridle.model.openai_chat import ChatModel
from bridle.model.openai_responses import ResponsesModel
from bridle.testing.wires import WIRES as SERVED

KEY = "sk-secret-canary-0123456789"
WIRES = ("chat", "messages", "responses")


def lane_to(address: str, key: str = KEY) -> Lane:
    return Lane(address, lambda: {"authorization": f"Bearer {key}"}, connect_seconds=2.0)


def model_of(
    wire: str, lane: Lane | str, *, ref: str = "m", quirks: Any = None, **info: Any
) -> ChatModel | AnthropicModel | ResponsesModel:
    """The adapter of a wire, on a lane that its caller closes."""
    lane = lane_to(lane) if isinstance(lane, str) else lane
    known = ModelInfo(ref, **info)
    match wire:
        case "chat":
            return ChatModel(lane, "scripted", known, quirks)
        case "messages":
            return AnthropicModel(lane, "scripted", known, quirks)
        case "responses":
            return ResponsesModel(lane, "scripted", known)
    raise AssertionError(wire)


_SPEAKERS = [(model_of(wire.__name__.removesuffix("Wire").lower(), "http://127.0.0.1:1"), wire) for wire in SERVED]


def problems_on_wires(request: ModelRequest) -> list[str]:
    """Everything for which any of the three providers would refuse this request, as its adapter writes it."""
    return [
        f"{wire.__name__}: {problem}"
        for model, wire in _SPEAKERS
        for problem in wire.problems(msgspec.json.decode(model.body(request)))
    ]
