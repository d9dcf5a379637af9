"""Merges layers of model options deeply: the later layer wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RESERVED_OPTIONS = (
    *("model", "messages", "input", "stream", "tools", "tool_choice", "system", "instructions", "n"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens"),
)
"""Names that an option may not set, because Bridle's guarantees rely on them, e.g. the reserved output size."""


def layered(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge layers deeply, usually provider defaults, model, agent, variant; later layers win."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            below = merged.get(key)
            if isinstance(below, Mapping) and isinstance(value, Mapping):
                merged[key] = layered(below, value)
            else:
                merged[key] = value
    return merged
