"""Runs a shell command, which ends with its call, together with everything that it started."""

from __future__ import annotations

import asyncio
import codecs
import os
from pathlib import Path
from typing import Annotated

import msgspec

from bridle.core.permission import Access
from bridle.errors import ToolFailed
from bridle.process.owned import Owned
from bridle.tools.builtin import builtin
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import accesses, located

CHUNK = 65_536
LONGEST_SECONDS = 600.0
DRAIN_SECONDS = 0.3


class BashArguments(msgspec.Struct, forbid_unknown_fields=True):
    command: Annotated[str, msgspec.Meta(description="The command")]
    description: Annotated[str, msgspec.Meta(description="What it is for, in a few words")] = ""
    timeout: Annotated[int | None, msgspec.Meta(description="Milliseconds after which it is ended")] = None
    workdir: Annotated[str | None, msgspec.Meta(description="The folder to run it in")] = None


async def bash(given: BashArguments, invocation: Invocation) -> Output:
    folder = located(invocation.directory, given.workdir or ".").path
    if not folder.is_dir():
        raise ToolFailed(f"{given.workdir} is not a folder.")
    seconds = None if given.timeout is None else given.timeout / 1000
    output, into = os.pipe()
    try:
        command = ["/bin/bash", "-c", given.command]
        owned = Owned(command, folder=folder, output=into, environment=invocation.environment)
    except BaseException:
        os.close(output)
        raise
    finally:
        os.close(into)
    reading = asyncio.ensure_future(_pass_on(output, invocation))
    try:
        async with asyncio.timeout(seconds):
            status = await owned.wait()
    except TimeoutError:
        if seconds is None:
            raise
        status = None
    finally:
        await owned.end()
        # Nobody holds the other end any more, unless the kernel does not let go of somebody: that is not waited for.
        await asyncio.wait([reading], timeout=DRAIN_SECONDS)
        reading.cancel()
    text = invocation.printed.text()
    if status is None:
        return Output(f"{text}\n\n[timed out after {seconds:g} s]", failed=True)
    if status == 0:
        return Output(text or "[no output]")
    return Output(f"{text}\n\n[exit status {status}]", failed=True)


async def _pass_on(output: int, invocation: Invocation) -> None:
    """Read until nobody holds the other end; the pipe is ours, so that the command's end does not wait for it."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(output, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        while chunk := await reader.read(CHUNK):
            invocation.print(decoder.decode(chunk))
    finally:
        transport.close()


def _needs(given: BashArguments, directory: Path) -> tuple[Access, ...]:
    needed: tuple[Access, ...] = (Access("bash", given.command),)
    if given.workdir is not None:
        needed += accesses("list", located(directory, given.workdir))
    return needed


TOOL = builtin(
    "bash",
    BashArguments,
    bash,
    needs=_needs,
    ignored=frozenset({"description"}),
    timeout_seconds=LONGEST_SECONDS,
)
