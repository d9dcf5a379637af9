"""The `read` tool: read lines of a file, show an image or document, or list a folder."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated

import msgspec

from bridle.core.limits import counted
from bridle.core.messages import Attachment
from bridle.errors import ToolFailed
from bridle.seams import in_thread
from bridle.tools.builtin import builtin, path_needs
from bridle.tools.file_changes import BINARY_LOOK, MAX_BYTES
from bridle.tools.list import listing
from bridle.tools.nested_instructions import nested_instructions
from bridle.tools.tool import Invocation, Output
from bridle.values.media import media_of
from bridle.workspace.files import digest

MAX_LINES = 2_000
MAX_LINE = 2_000
BLOCK = 65_536
MOST_BYTES = 200_000_000
MOST_TO_LOOK_AT = 5_000_000
"""Maximum size of an image or document: some providers accept no more."""


class ReadArguments(msgspec.Struct, forbid_unknown_fields=True):
    filePath: Annotated[str, msgspec.Meta(description="The file or folder")]
    offset: Annotated[int, msgspec.Meta(description="The first line, counted from 1", ge=0)] = 1
    limit: Annotated[int, msgspec.Meta(description="How many lines", gt=0)] = MAX_LINES


async def read(given: ReadArguments, invocation: Invocation) -> Output:
    files = invocation.files
    place = files.place("read", given.filePath)
    folder = listing(files, place)
    if folder is not None:
        return Output(folder)
    with files.opened(place) as handle:
        beginning = os.pread(handle, BINARY_LOOK, 0)
        if media := media_of(beginning):
            if os.fstat(handle).st_size > MOST_TO_LOOK_AT:
                raise ToolFailed(f"{place.shown} is too large to look at: at most {MOST_TO_LOOK_AT} bytes.")
            content = b"".join(_blocks(handle))
            shown = Attachment(place.shown, media, b64encode(content).decode())
            return Output(f"[{media}, {len(content)} bytes: shown below]", digest=digest(content), attached=(shown,))
        if b"\0" in beginning:
            raise ToolFailed(f"{place.shown} is a binary file.")
        if os.fstat(handle).st_size > MAX_BYTES:
            # Files of this size, like stored tool outputs, are read in pieces and cannot be edited.
            return Output(await in_thread(partial(_in_pieces, os.dup(handle), given)))
        content = b"".join(_blocks(handle))
    invocation.sees(str(place.path), digest(content))
    told = nested_instructions(place.path, invocation)
    text = _part(_lines([content]), given)
    return Output(f"{text}\n\n{told}" if told else text)


def _in_pieces(handle: int, given: ReadArguments) -> str:
    """Read a large file in a thread. It owns the handle, because the thread cannot be stopped."""
    try:
        return _part(_lines(_blocks(handle)), given)
    finally:
        os.close(handle)


def _blocks(handle: int) -> Iterator[bytes]:
    """Yield the content of a file, up to its size at the start if it grows."""
    left = min(os.fstat(handle).st_size, MOST_BYTES)
    while left > 0 and (block := os.read(handle, min(BLOCK, left))):
        left -= len(block)
        yield block


def _part(lines: Iterator[str], given: ReadArguments) -> str:
    """Return the requested lines with their numbers, and the offset of the next ones."""
    first = max(1, given.offset)
    chosen: list[str] = []
    number = left = 0
    for number, line in enumerate(lines, 1):
        if number >= first:
            if len(chosen) < given.limit:
                chosen.append(f"{number:>6}\t{line}")
            else:
                left += 1
    if not number:
        return "[the file is empty]"
    if not chosen:
        raise ToolFailed(f"The file ends at line {number}; offset {first} is after that.")
    text = "\n".join(chosen)
    return f"{text}\n\n[{counted(left, 'more line')}; read on with offset {first + len(chosen)}]" if left else text


def _lines(blocks: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines, long ones truncated, in little memory."""
    rest = b""
    cut = 0
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            yield _shown(line, cut)
            cut = 0
        if len(rest) > 4 * MAX_LINE:
            cut += len(rest) - 4 * MAX_LINE
            rest = rest[: 4 * MAX_LINE]
    if rest:
        yield _shown(rest, cut)


def _shown(line: bytes, cut: int) -> str:
    text = line.removesuffix(b"\r").decode("utf-8", errors="replace").removeprefix("\ufeff")
    if cut or len(text) > MAX_LINE:
        return f"{text[:MAX_LINE]} [… line truncated]"
    return text


TOOL = builtin("read", ReadArguments, read, needs=path_needs("read", "filePath"), repeatable=True)
