"""The names of the built-in tools, in the order in which the model sees them, and `builtin_tools`, which loads them."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

from bridle.tools.tool import Tool

EDITS, COMMANDS, SEARCH = ("write", "edit", "apply_patch"), ("bash", "process"), ("glob", "grep", "list")
TODOS, QUESTIONS, WEB = ("todowrite", "todoread"), ("question",), ("webfetch",)
NAMES = ("read", *EDITS, *COMMANDS, *SEARCH, *TODOS, *QUESTIONS, *WEB)


def builtin_tools(without: Collection[str] = ()) -> list[Tool]:
    """Return the built-in tools in the order in which the model sees them; all, or all without some names."""
    return [import_module(f"bridle.tools.{name}").TOOL for name in NAMES if name not in without]
