"""Runs the configured formatters and linters on edited files, each with a timeout; the model gets their findings."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from itertools import product

from bridle.core.permission import matches
from bridle.errors import ToolFailed
from bridle.process.containment import told
from bridle.process.sandbox import Openings
from bridle.tools.command_setup import FileCheck
from bridle.tools.file_changes import MAX_BYTES
from bridle.tools.output_buffer import Printed
from bridle.tools.prepared_command import PreparedCommand, prepare
from bridle.tools.tool import Invocation
from bridle.workspace.files import Place, digest

MOST_FOUND = 4_000
FAILED = {"formatter": "[the formatter for {} failed: {}]", "diagnostics": "[diagnostics for {}]\n{}"}


async def cared_for(places: Sequence[Place], invocation: Invocation) -> str:
    """Format and lint files that were written; return the findings for the model."""
    settings = invocation.commands.settings
    kinds = (("formatter", settings.formatters), ("diagnostics", settings.diagnostics))
    found: list[str] = []
    for place, (kind, checks) in product(places, kinds):
        for check in (check for check in checks if matches(check.files, place.shown)):
            failed, said, refused = await _run(check, place, invocation)
            if failed:
                found.append(FAILED[kind].format(place.shown, said + refused))
            elif refused:
                found.append(f"[the {kind} for {place.shown} ran; about protected files:]{refused}")
            if kind == "formatter":
                _see_again(place, invocation)
    return "\n\n".join(found)


async def _run(check: FileCheck, place: Place, invocation: Invocation) -> tuple[bool, str, str]:
    """Run a command on a file, by default in the sandbox because it may execute the project's own code.

    Return whether it failed, its output, and its changes to protected files.
    """
    command = ["/bin/sh", "-c", check.command.replace("{file}", shlex.quote(str(place.path)))]
    commands = invocation.commands
    ready = PreparedCommand(command, place.project, invocation.environment, commands.bounds, commands.find_lifelines)
    if check.sandbox:
        ready = await prepare(command, invocation, place.project, opened=Openings(protected=(place.path,)))
    printed, piped = Printed(), ready.start()
    try:
        async with asyncio.timeout(check.seconds):
            status = await piped.run(printed.add)
        said = printed.text().strip()[:MOST_FOUND] or f"exit status {status}"
    except TimeoutError:
        status, said = -1, f"it took longer than {check.seconds:g} s"
    return status != 0, said, told(piped.differences(), place.project)


def _see_again(place: Place, invocation: Invocation) -> None:
    """Count the formatted file as read by the model; a file that is gone or too large must be read again."""
    try:
        invocation.sees(str(place.path), digest(invocation.files.read(place, MAX_BYTES)))
    except ToolFailed:
        invocation.sees(str(place.path), "")
