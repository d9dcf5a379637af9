"""Formatters and linters that run on a file after an edit, each with a timeout."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bridle.core.permission import matches
from bridle.errors import ToolFailed
from bridle.process.containment import contain, told
from bridle.process.output_stream import OutputStream
from bridle.process.sandbox import Openings
from bridle.seams import in_thread
from bridle.tools.command_setup import FileCheck
from bridle.tools.output_buffer import Printed
from bridle.tools.tool import Invocation
from bridle.workspace.files import Place, digest

MOST_FOUND = 4_000
MAX_BYTES = 20_000_000


class Ran(NamedTuple):
    """The result of a command: whether it failed, its output, and its changes to protected files."""

    failed: bool
    said: str
    refused: str


async def cared_for(places: Sequence[Place], invocation: Invocation) -> str:
    """Format and lint files that were written; return the findings for the model."""
    found: list[str] = []
    for place in places:
        for care in invocation.commands.settings.formatters:
            if matches(care.files, place.shown):
                ran = await _run(care, place, invocation)
                if ran.failed:
                    found.append(f"[the formatter for {place.shown} failed: {ran.said}{ran.refused}]")
                elif ran.refused:
                    found.append(f"[the formatter for {place.shown} ran; about protected files:]{ran.refused}")
                _see_again(place, invocation)
        for care in invocation.commands.settings.diagnostics:
            if matches(care.files, place.shown):
                ran = await _run(care, place, invocation)
                if ran.failed:
                    found.append(f"[diagnostics for {place.shown}]\n{ran.said}{ran.refused}")
                elif ran.refused:
                    found.append(f"[the diagnostics for {place.shown} ran; about protected files:]{ran.refused}")
    return "\n\n".join(found)


async def _run(care: FileCheck, place: Place, invocation: Invocation) -> Ran:
    """Run a command on a file, in the sandbox because it may execute the project's own code."""
    text = care.command.replace("{file}", shlex.quote(str(place.path)))
    command = ["/bin/sh", "-c", text]
    environment: Mapping[str, str] | None = invocation.environment
    sandbox, watch = invocation.sandbox, None
    if sandbox is not None and care.sandbox:
        contained = await in_thread(
            lambda: contain(
                sandbox,
                place.project,
                place.project,
                invocation.environment,
                opened=Openings(protected=(place.path,)),
                permits=invocation.permits,
                call=invocation.call,
            )
        )
        command, environment, watch = [*contained.words, *command], contained.environment, contained.watch
    printed = Printed()
    piped = OutputStream(
        command, folder=place.project, environment=environment, bounds=invocation.commands.bounds, watch=watch
    )
    try:
        async with asyncio.timeout(care.seconds):
            status = await piped.run(printed.add)
    except TimeoutError:
        return Ran(True, f"it took longer than {care.seconds:g} s", told(piped.differences(), place.project))
    said = printed.text().strip()[:MOST_FOUND] or f"exit status {status}"
    return Ran(status != 0, said, told(piped.differences(), place.project))


def _see_again(place: Place, invocation: Invocation) -> None:
    """Count the formatted file as read by the model; a file that is gone or too large must be read again."""
    try:
        invocation.sees(str(place.path), digest(invocation.files.read(place, MAX_BYTES)))
    except ToolFailed:
        invocation.sees(str(place.path), "")
