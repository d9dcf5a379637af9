"""A model of each wire, talking to a server on loopback."""

from bridle.core.agent import ModelInfo
from bridle.model.anthropic import AnthropicModel
from bridle.model.http import Lane
from bridle.model.openai_chat import ChatModel
from bridle.model.openai_responses import ResponsesModel

KEY = "sk-secret-canary-0123456789"
WIRES = ("chat", "messages", "responses")


def model_of(wire, address, *, ref="m", key=KEY, quirks=None, **info):
    """The adapter of a wire, pointed at an address."""
    lane = Lane(address, lambda: {"authorization": f"Bearer {key}"}, connect_seconds=2.0)
    known = ModelInfo(ref, **info)
    match wire:
        case "chat":
            return ChatModel(lane, "scripted", known, quirks)
        case "messages":
            return AnthropicModel(lane, "scripted", known, quirks)
        case "responses":
            return ResponsesModel(lane, "scripted", known)
