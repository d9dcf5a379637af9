"""The tools that come with Bridle."""

from __future__ import annotations

from importlib import import_module

from bridle.tools.tool import Tool

NAMES = (
    "read",
    "write",
    "edit",
    "apply_patch",
    "bash",
    "process",
    "glob",
    "grep",
    "list",
    "todowrite",
    "todoread",
    "question",
    "webfetch",
)


def builtin_tools() -> list[Tool]:
    """All of them, in the order in which a model is told."""
    return [import_module(f"bridle.tools.{name}").TOOL for name in NAMES]
