"""`task`: a subagent with a session of its own. Its call never runs here; the turn starts the child."""

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
    """What `task` takes, under the names that models know from elsewhere."""

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
    """Its words and the schema of its arguments: every turn that may start subagents needs them."""
    words = Path(__file__).with_name("task.md").read_text(encoding="utf-8").strip()
    return words, struct_schema(TaskArguments)


def task_tool(subagents: Mapping[str, str]) -> Tool:
    """The tool, with the agents that it may start and what each is good for."""
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
