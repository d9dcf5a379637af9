"""Options in layers, merged deeply: the later layer wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RESERVED_OPTIONS = (
    *("model", "messages", "input", "stream", "tools", "tool_choice", "system", "instructions", "n"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens"),
)
"""What an option may not set: Bridle promises something by it, such as that no more is written than was reserved."""


def layered(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Provider defaults, model, agent, variant: in that order."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            below = merged.get(key)
            if isinstance(below, Mapping) and isinstance(value, Mapping):
                merged[key] = layered(below, value)
            else:
                merged[key] = value
    return merged
