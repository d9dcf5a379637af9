"""Runs a shell command in a process group of its own, which ends with the call."""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
from pathlib import Path
from typing import Annotated

import msgspec

from bridle.core.permission import Access
from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin
from bridle.tools.paths import located
from bridle.tools.tool import Invocation, Output

CHUNK = 65_536
LONGEST_SECONDS = 600.0


class BashArguments(msgspec.Struct, forbid_unknown_fields=True):
    command: Annotated[str, msgspec.Meta(description="The command")]
    description: Annotated[str, msgspec.Meta(description="What it is for, in a few words")] = ""
    timeout: Annotated[int | None, msgspec.Meta(description="Milliseconds after which it is ended")] = None
    workdir: Annotated[str | None, msgspec.Meta(description="The folder to run it in")] = None


async def bash(given: BashArguments, invocation: Invocation) -> Output:
    folder = located(invocation.directory, given.workdir) if given.workdir else invocation.directory
    if not folder.is_dir():
        raise ToolFailed(f"{given.workdir} is not a folder.")
    process = await asyncio.create_subprocess_exec(
        "/bin/bash",
        "-c",
        given.command,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    seconds = None if given.timeout is None else given.timeout / 1000
    try:
        async with asyncio.timeout(seconds):
            await _pass_on(process, invocation)
            status = await process.wait()
    except TimeoutError:
        if seconds is None:
            raise
        return Output(f"{invocation.printed.text()}\n\n[timed out after {seconds:g} s]", failed=True)
    finally:
        _end_group(process.pid)
        await process.wait()
    text = invocation.printed.text()
    if status == 0:
        return Output(text or "[no output]")
    return Output(f"{text}\n\n[exit status {status}]", failed=True)


async def _pass_on(process: asyncio.subprocess.Process, invocation: Invocation) -> None:
    assert process.stdout is not None
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while chunk := await process.stdout.read(CHUNK):
        invocation.print(decoder.decode(chunk))


def _end_group(pid: int) -> None:
    """Whatever the command left behind ends with it."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _needs(given: BashArguments, directory: Path) -> tuple[Access, ...]:
    accesses: tuple[Access, ...] = (Access("bash", given.command),)
    if given.workdir is not None and not located(directory, given.workdir).is_relative_to(directory.resolve()):
        accesses += (Access("external_directory", given.workdir),)
    return accesses


TOOL = builtin(
    "bash",
    BashArguments,
    bash,
    needs=_needs,
    ignored=frozenset({"description"}),
    timeout_seconds=LONGEST_SECONDS,
)
