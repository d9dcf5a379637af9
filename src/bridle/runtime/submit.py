"""Submits a person's prompt with everything that it asks for."""

from __future__ import annotations

from collections.abc import Sequence

from bridle.assembly.prompts import Expanded as Expanded
from bridle.core.inbox import TurnOptions
from bridle.core.parts import File
from bridle.runtime.runtime import Runtime


async def submit(
    runtime: Runtime,
    session: str,
    asked: Expanded,
    options: TurnOptions,
    *,
    files: Sequence[File] = (),
    queue: bool = False,
    reply: bool = True,
) -> str:
    """Submit an expanded prompt, with more files; a prompt for a subagent gets a turn of its own. See `prompt`."""
    return await runtime.prompt(
        session,
        asked.text,
        files=(*files, *asked.files),
        queue=queue or bool(asked.subtask),
        reply=reply,
        options=asked.over(options),
        wants=asked.wants,
        subtask=asked.subtask,
    )
