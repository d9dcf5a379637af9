"""Reads a file by lines, or lists a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin
from bridle.tools.paths import digest, file_access, located, regular, shown
from bridle.tools.tool import Invocation, Output

MAX_LINES = 2_000
MAX_LINE = 2_000
MAX_BYTES = 20_000_000


class ReadArguments(msgspec.Struct, forbid_unknown_fields=True):
    filePath: Annotated[str, msgspec.Meta(description="The file or folder")]
    offset: Annotated[int, msgspec.Meta(description="The first line, counted from 1", ge=0)] = 1
    limit: Annotated[int, msgspec.Meta(description="How many lines", gt=0)] = MAX_LINES


async def read(given: ReadArguments, invocation: Invocation) -> Output:
    directory = invocation.directory
    path = located(directory, given.filePath)
    if path.is_dir():
        return Output(_listing(path))
    regular(directory, path)
    if path.stat().st_size > MAX_BYTES:
        raise ToolFailed(f"{shown(directory, path)} is larger than {MAX_BYTES} bytes; search it with grep instead.")
    content = path.read_bytes()
    if b"\0" in content[:8_192]:
        raise ToolFailed(f"{shown(directory, path)} is a binary file.")
    invocation.known_files[str(path)] = digest(content)
    lines = content.decode("utf-8", errors="replace").splitlines()
    first = max(1, given.offset)
    chosen = lines[first - 1 : first - 1 + given.limit]
    numbered = "\n".join(f"{number:>6}\t{line[:MAX_LINE]}" for number, line in enumerate(chosen, first))
    left = len(lines) - (first - 1 + len(chosen))
    if left > 0:
        numbered += f"\n\n[{left} more lines; read on with offset {first + len(chosen)}]"
    return Output(numbered or "[the file is empty]")


def _listing(path: Path) -> str:
    names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in path.iterdir())
    return "\n".join(names) or "[the folder is empty]"


TOOL = builtin(
    "read",
    ReadArguments,
    read,
    needs=lambda given, directory: file_access("read", directory, given.filePath),
    repeatable=True,
)
