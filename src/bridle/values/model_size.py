"""The number of parameters that the name of an open model tells."""

from __future__ import annotations

import re
from math import inf

SMALL_BILLIONS = 2.0
"""Models up to this size lose track in long prompts, and of many tools."""
SMALLEST_BILLIONS = 1.0
"""Models up to this size rarely make a native call, or none: they need calls as text and examples."""
_SIZE = re.compile(r"(?<![a-z0-9.])(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[bm])(?![a-z0-9])", re.IGNORECASE)


def billions_of_parameters(name: str) -> float | None:
    """Return the size that a name such as `qwen2.5-coder:0.5b` tells, in billions; None if it tells none."""
    found = [float(each["number"]) / (1 if each["unit"] in "bB" else 1_000) for each in _SIZE.finditer(name)]
    return max(found, default=None)


def is_small_by_name(name: str) -> bool:
    """Return whether a name tells that the model is small."""
    return (billions_of_parameters(name) or inf) <= SMALL_BILLIONS


def is_smallest_by_name(name: str) -> bool:
    """Return whether a name tells that the model is too small for native tool calls."""
    return (billions_of_parameters(name) or inf) <= SMALLEST_BILLIONS
