"""Makes the tools that hand a turn over to another agent. Their calls never run: the turn changes its agent instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from bridle.core.permission import Access
from bridle.core.stream import ToolSpec
from bridle.errors import ToolFailed
from bridle.tools.tool import Invocation, Output, StructTool, Tool, loader, struct_schema

LONGEST = 64
"""Maximum length of the name of a tool at the large providers."""


class HandoffArguments(msgspec.Struct):
    """Arguments of a handoff: none, since the other agent reads the whole conversation."""


def handoff_name(agent: str) -> str:
    """Return the name of the tool that hands over to an agent."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"transfer_to_{agent}")[:LONGEST]


def handoff_tool(agent: str, description: str) -> Tool:
    """Return the tool that hands over to an agent; rules name it like the tools of Python functions."""
    name = handoff_name(agent)
    told = f"Hand the conversation over to the agent {agent}, which continues in your place. {description}".strip()

    def needs(given: HandoffArguments, directory: Path) -> tuple[Access, ...]:
        return (Access("python", name),)

    return StructTool(
        spec=ToolSpec(name, told, struct_schema(HandoffArguments)),
        load=loader(HandoffArguments),
        work=_never,
        permission="python",
        needs=needs,
        repeatable=True,
        leaves_files=True,
        hands_to=agent,
    )


def handoff_tools(targets: Mapping[str, str]) -> dict[str, Tool]:
    """Return the tools that hand over to these agents, given with their descriptions."""
    return {handoff_name(agent): handoff_tool(agent, described) for agent, described in targets.items()}


async def _never(given: HandoffArguments, invocation: Invocation) -> Output:
    raise ToolFailed("a handoff is made by its turn, not by a call")
