"""A model of each wire, talking to a server on loopback."""

from bridle.core.agent import ModelInfo
from bridle.model.anthropic import AnthropicModel
from bridle.model.http import Lane
from bridle.model.openai_chat import ChatModel
from bridle.model.openai_responses import ResponsesModel

KEY = "sk-secret-canary-0123456789"
WIRES = ("chat", "messages", "responses")


def lane_to(address, key=KEY):
    return Lane(address, lambda: {"authorization": f"Bearer {key}"}, connect_seconds=2.0)


def model_of(wire, lane, *, ref="m", quirks=None, **info):
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
