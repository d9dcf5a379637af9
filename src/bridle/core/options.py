"""Options in layers, merged deeply: the later layer wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RESERVED_OPTIONS = ("model", "messages", "input", "stream", "tools", "tool_choice")
"""What an option may not set: it would break what Bridle promises."""


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
