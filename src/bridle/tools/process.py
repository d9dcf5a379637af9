"""The `process` tool: read, write to, list and end background commands."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from bridle.core.permission import Access
from bridle.errors import ToolFailed
from bridle.tools.background import Background
from bridle.tools.builtin import builtin
from bridle.tools.tool import Invocation, Output

SETTLE_SECONDS = 0.3
SHOWN = 200


class ProcessArguments(msgspec.Struct, forbid_unknown_fields=True):
    action: Annotated[Literal["list", "read", "send", "end"], msgspec.Meta(description="What to do")]
    id: Annotated[str, msgspec.Meta(description="The command, as bash named it")] = ""
    text: Annotated[str, msgspec.Meta(description="The input to send; a line ends with \\n")] = ""


async def process(given: ProcessArguments, invocation: Invocation) -> Output:
    backgrounds = invocation.commands.backgrounds
    if given.action == "list":
        every = backgrounds.of(invocation.session).items()
        lines = [f"{id} {_state(found, ended=False)}: {found.shown[:SHOWN]}" for id, found in every]
        return Output("\n".join(lines) or "none")
    found = backgrounds.find(invocation.session, given.id)
    if given.action == "send":
        if found.status is not None:
            raise ToolFailed(f"{given.id} has ended with status {found.status}.")
        found.send(given.text)
        # Most programs answer at once: waiting here saves a second call and its step.
        await asyncio.sleep(SETTLE_SECONDS)
    over = found.status is not None
    if given.action == "end":
        await backgrounds.forget(invocation.session, given.id)
    state = _state(found, ended=given.action == "end" and not over)
    text = found.read()
    return Output(f"{text}\n[{given.id} {state}]" if text else f"[{given.id} {state}, nothing new was printed]")


def _state(found: Background, *, ended: bool) -> str:
    if found.status is not None and not ended:
        return f"ended with status {found.status}"
    return "was ended" if ended else "is running"


def _needs(given: ProcessArguments, directory: Path) -> tuple[Access, ...]:
    # The command was allowed when it was started, but its input may be as powerful as a command.
    return (Access("bash", given.text.strip(), "any"),) if given.action == "send" else ()


TOOL = builtin("process", ProcessArguments, process, permission="bash", needs=_needs)
