"""List of the built-in tools, in the order in which the model sees them."""

from __future__ import annotations

from importlib import import_module

from bridle.tools.tool import Tool

FILES, SEARCH = ("read", "write", "edit", "apply_patch"), ("glob", "grep", "list")
NAMES = (*FILES, "bash", "process", *SEARCH, "todowrite", "todoread", "question", "webfetch")


def builtin_tools() -> list[Tool]:
    """Return all built-in tools in the order in which the model sees them."""
    return [import_module(f"bridle.tools.{name}").TOOL for name in NAMES]
