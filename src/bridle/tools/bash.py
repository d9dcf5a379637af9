"""Runs a shell command, which ends with its call, together with everything that it started."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from bridle.core.permission import Access
from bridle.errors import ToolFailed
from bridle.process.piped import Piped
from bridle.process.sandbox import inside_environment
from bridle.tools.background import MOST_RUNNING, Background
from bridle.tools.builtin import builtin
from bridle.tools.shut_in import ShutIn, openings
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import accesses, beyond, located

LONGEST_SECONDS = 600.0
FIRST_LOOK_SECONDS = 0.5
NETWORK = "network"
NO_NETWORK = re.compile(
    r"(?i:could not resolve|name resolution|name or service not known|network is unreachable|no address associated|"
    r"failed to establish a new connection|dial tcp|nodename nor servname|could not connect to server|"
    r"unable to resolve|dns error|failed to lookup address)|\b(EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b"
)
READ_ONLY = re.compile(r"(?i:read-only file system|could not (write|lock) config file)|\bEROFS\b")


class BashArguments(msgspec.Struct, forbid_unknown_fields=True):
    command: Annotated[str, msgspec.Meta(description="The command")]
    description: Annotated[str, msgspec.Meta(description="What it is for, in a few words")] = ""
    timeout: Annotated[int | None, msgspec.Meta(description="Milliseconds it may take")] = None
    workdir: Annotated[str | None, msgspec.Meta(description="The folder to run it in")] = None
    background: Annotated[bool, msgspec.Meta(description="Let it go on")] = False
    outside: Annotated[
        list[str], msgspec.Meta(description='Needed beyond the sandbox: "network", or a folder to write to')
    ] = []


async def bash(given: BashArguments, invocation: Invocation) -> Output:
    place = located(invocation.directory, given.workdir or ".")
    if not place.path.is_dir():
        raise ToolFailed(f"{given.workdir or place.path} is not a folder.")
    command = ["/bin/bash", "-c", given.command]
    environment = invocation.environment
    shut_in = ShutIn.at(place, invocation.sandbox) if invocation.sandbox is not None else None
    if shut_in is not None:
        alone = is_single(given.command)
        command = shut_in.around(
            command, openings(given.outside, _needs(given, place.project), invocation, alone=alone)
        )
        environment = inside_environment(os.environ if environment is None else environment)
    if given.background:
        return await _in_background(command, given, place.path, environment, invocation)
    status, seconds = await _run(command, given, place.path, environment, invocation)
    text = invocation.printed.text()
    hint = _hint(text, given, invocation) if status else ""
    hint += shut_in.looked_after() if shut_in is not None else ""
    if status is None:
        return invocation.output(f"{text}\n\n[timed out after {seconds:g} s]{hint}", failed=True)
    if status == 0:
        return invocation.output((text or "[no output]") + hint)
    return invocation.output(f"{text}\n\n[exit status {status}]{hint}", failed=True)


async def _run(
    command: list[str],
    given: BashArguments,
    folder: Path,
    environment: Mapping[str, str] | None,
    invocation: Invocation,
) -> tuple[int | None, float | None]:
    """The exit status, or none if its time was up, and that time."""
    seconds = None if given.timeout is None else max(given.timeout, 1) / 1000
    piped = Piped(command, folder=folder, environment=environment, bounds=invocation.bounds)
    try:
        async with asyncio.timeout(seconds):
            return await piped.run(invocation.print), seconds
    except TimeoutError:
        if seconds is None:
            raise
        return None, seconds


async def _in_background(
    command: list[str],
    given: BashArguments,
    folder: Path,
    environment: Mapping[str, str] | None,
    invocation: Invocation,
) -> Output:
    backgrounds = invocation.backgrounds
    if not backgrounds.room(invocation.session):
        raise ToolFailed(f"{MOST_RUNNING} commands run in the background already; end one of them first.")
    started = Background(command, given.command, folder=folder, environment=environment, bounds=invocation.bounds)
    try:
        await asyncio.sleep(FIRST_LOOK_SECONDS)
    except BaseException:
        await started.end()
        raise
    id = backgrounds.add(invocation.session, started)
    state = "is running" if started.status is None else f"has ended with status {started.status}"
    return Output(f"{started.read()}\n[{id} {state}]".lstrip("\n"))


def _hint(text: str, given: BashArguments, invocation: Invocation) -> str:
    """What the sandbox may have had to do with a failure, and how to ask for more."""
    if invocation.sandbox is None:
        return ""
    tail = text[-5_000:]
    if NO_NETWORK.search(tail) and NETWORK not in given.outside:
        return '\n[the sandbox has no network; to ask a person for it, run this again with outside: ["network"]]'
    if READ_ONLY.search(tail):
        return (
            "\n[the sandbox lets commands write only to the project, caches and /tmp; to ask a person for another "
            'folder, run this again with outside: ["/the/folder"]]'
        )
    return ""


def is_single(command: str) -> bool:
    """Whether a line is one plain command, so that what it was given serves nothing else."""
    from bridle.shell.script import taken_apart

    script = taken_apart(command)
    return len(script.commands) == 1 and not script.doubts


def _needs(given: BashArguments, directory: Path) -> tuple[Access, ...]:
    # Loaded when a command is judged: a turn that runs none does not need the parser.
    from bridle.shell.needs import needs_of

    folder = located(directory, given.workdir or ".")
    needed = needs_of(given.command, folder.project, folder.path)
    if not folder.inside:
        needed += accesses("list", folder)[1:]
    for wanted in given.outside:
        if wanted == NETWORK:
            needed += (Access(NETWORK, given.command),)
        else:
            needed += (Access("external_directory", beyond(located(directory, wanted))),)
    return needed


TOOL = builtin(
    "bash",
    BashArguments,
    bash,
    needs=_needs,
    ignored=frozenset({"description"}),
    timeout_seconds=LONGEST_SECONDS,
)
