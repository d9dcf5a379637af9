"""The `task` tool: start a subagent in its own session. Its call never runs, the turn starts the child instead."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from bridle.core.permission import Access
from bridle.core.stream import ToolSpec
from bridle.errors import ToolFailed
from bridle.tools.tool import Invocation, Output, StructTool, Tool, struct_schema


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
def _told() -> tuple[str, dict[str, Any]]:
    """Return description and schema, cached because every turn with subagents needs them."""
    words = Path(__file__).with_name("task.md").read_text(encoding="utf-8").strip()
    return words, struct_schema(TaskArguments)


def task_tool(subagents: Mapping[str, str]) -> Tool:
    """Return the tool for the given subagents and their descriptions."""
    words, schema = _told()
    listed = "\n".join(f"- {name}: {described}" for name, described in sorted(subagents.items()))
    return StructTool(
        spec=ToolSpec("task", words.replace("{agents}", listed), schema),
        arguments=TaskArguments,
        work=_never,
        permission="task",
        needs=_needs,
        ignored_arguments=frozenset({"description"}),
        starts_child=True,
    )
