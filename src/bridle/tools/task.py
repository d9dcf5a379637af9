"""The `task` tool: start a subagent in its own session. Its call never runs: the turn starts a subagent instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec

from bridle.core.permission import Access
from bridle.core.stream import ToolSpec
from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin
from bridle.tools.tool import Invocation, Output, StructTool, Tool


class TaskArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Arguments of `task`, with the names that models know from other agents."""

    description: str
    prompt: str
    subagent_type: str
    task_id: str = ""
    background: bool = False


def _needs(given: TaskArguments, directory: Path) -> tuple[Access, ...]:
    return (Access("task", given.subagent_type),)


async def _never(given: TaskArguments, invocation: Invocation) -> Output:
    raise ToolFailed("a subagent is started by its turn, not by a call")


@cache
def _without_subagents() -> StructTool:
    """Return the tool with a placeholder for its subagents, cached because every turn with subagents needs it."""
    ignored = frozenset({"description"})
    return builtin("task", TaskArguments, _never, needs=_needs, ignored_arguments=ignored, starts_child=True)


def task_tool(subagents: Mapping[str, str]) -> Tool:
    """Return the tool for the given subagents and their descriptions."""
    made = _without_subagents()
    listed = "\n".join(f"- {name}: {described}" for name, described in sorted(subagents.items()))
    return replace(made, spec=ToolSpec("task", made.spec.description.replace("{agents}", listed), made.spec.schema))
