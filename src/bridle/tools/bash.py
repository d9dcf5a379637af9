"""Runs a shell command, which ends with its call, together with everything that it started."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec

from bridle.core.permission import Access
from bridle.errors import ToolFailed
from bridle.process.owned import Owned
from bridle.process.sandbox import Openings, inside_environment
from bridle.tools.background import MOST_RUNNING, Background
from bridle.tools.builtin import builtin
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import Place, accesses, located
from bridle.workspace.git import git_folders

CHUNK = 65_536
LONGEST_SECONDS = 600.0
DRAIN_SECONDS = 0.3
FIRST_LOOK_SECONDS = 0.5
NETWORK = "network"
NO_NETWORK = re.compile(
    r"could not resolve|name resolution|name or service not known|network is unreachable|EAI_AGAIN|ENOTFOUND|"
    r"ENETUNREACH|no address associated|failed to establish a new connection|dial tcp|nodename nor servname|"
    r"could not connect to server|unable to resolve|dns error|failed to lookup address",
    re.IGNORECASE,
)
READ_ONLY = re.compile(r"read-only file system|EROFS|could not (write|lock) config file", re.IGNORECASE)


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
        raise ToolFailed(f"{given.workdir} is not a folder.")
    command = ["/bin/bash", "-c", given.command]
    environment = invocation.environment
    if invocation.sandbox is not None:
        command = _shut_in(command, given, place, invocation)
        environment = inside_environment(os.environ if environment is None else environment)
    if given.background:
        return await _in_background(command, given, place.path, environment, invocation)
    status, seconds = await _run(command, given, place.path, environment, invocation)
    text = invocation.printed.text()
    hint = _hint(text, given, invocation) if status else ""
    if status is None:
        return invocation.output(f"{text}\n\n[timed out after {seconds:g} s]", failed=True)
    if status == 0:
        return invocation.output(text or "[no output]")
    return invocation.output(f"{text}\n\n[exit status {status}]{hint}", failed=True)


def _shut_in(command: list[str], given: BashArguments, place: Place, invocation: Invocation) -> list[str]:
    assert invocation.sandbox is not None
    needs = _needs(given, invocation.directory)
    opened = Openings(
        network=any(access.permission == NETWORK for access in needs) or invocation.sandbox.network,
        writable=tuple(located(place.project, path).path for path in given.outside if path != NETWORK),
        git_config=any(access.permission == "git_config" for access in needs),
    )
    git = git_folders(place.project)
    return invocation.sandbox.around(command, project=place.project, folder=place.path, git=git, opened=opened)


async def _run(
    command: list[str],
    given: BashArguments,
    folder: Path,
    environment: Mapping[str, str] | None,
    invocation: Invocation,
) -> tuple[int | None, float | None]:
    """The exit status, or none if its time was up, and that time."""
    seconds = None if given.timeout is None else given.timeout / 1000
    output, into = os.pipe()
    try:
        owned = Owned(command, folder=folder, output=into, environment=environment, bounds=invocation.bounds)
    except BaseException:
        os.close(output)
        raise
    finally:
        os.close(into)
    reading = asyncio.ensure_future(_pass_on(output, invocation))
    try:
        async with asyncio.timeout(seconds):
            return await owned.wait(), seconds
    except TimeoutError:
        if seconds is None:
            raise
        return None, seconds
    finally:
        await owned.end()
        # Nobody holds the other end any more, unless the kernel does not let go of somebody: that is not waited for.
        await asyncio.wait([reading], timeout=DRAIN_SECONDS)
        reading.cancel()


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
    id = backgrounds.add(invocation.session, started)
    await asyncio.sleep(FIRST_LOOK_SECONDS)
    state = "is running" if started.status is None else f"has ended with status {started.status}"
    return Output(f"{started.read()}\n[{id} {state}]".lstrip("\n"))


async def _pass_on(output: int, invocation: Invocation) -> None:
    """Read until nobody holds the other end; the pipe is ours, so that the command's end does not wait for it."""
    reader = asyncio.StreamReader()
    pipe = os.fdopen(output, "rb", buffering=0)
    protocol = partial(asyncio.StreamReaderProtocol, reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(protocol, pipe)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        while chunk := await reader.read(CHUNK):
            invocation.print(decoder.decode(chunk))
    finally:
        transport.close()


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


def _needs(given: BashArguments, directory: Path) -> tuple[Access, ...]:
    # Loaded when a command is judged: a turn that runs none does not need the parser.
    from bridle.shell.needs import needs_of

    folder = located(directory, given.workdir or ".")
    needed = needs_of(given.command, folder.project, folder.path)
    if not folder.inside:
        needed += accesses("list", folder)[1:]
    for wanted in given.outside:
        if wanted == NETWORK:
            needed += (Access(NETWORK, given.command, always="*"),)
        else:
            needed += (Access("external_directory", f"{located(directory, wanted).path}/*"),)
    return needed


TOOL = builtin(
    "bash",
    BashArguments,
    bash,
    needs=_needs,
    ignored=frozenset({"description"}),
    timeout_seconds=LONGEST_SECONDS,
)
