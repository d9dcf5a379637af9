"""Writes a whole file."""

from __future__ import annotations

from typing import Annotated

import msgspec

from bridle.tools.builtin import builtin
from bridle.tools.paths import digest, file_access, located, regular, shown, unchanged
from bridle.tools.tool import Invocation, Output


class WriteArguments(msgspec.Struct, forbid_unknown_fields=True):
    filePath: Annotated[str, msgspec.Meta(description="The file")]
    content: Annotated[str, msgspec.Meta(description="Everything that the file shall hold")]


async def write(given: WriteArguments, invocation: Invocation) -> Output:
    directory = invocation.directory
    path = located(directory, given.filePath)
    if path.exists():
        regular(directory, path)
        unchanged(directory, path, invocation.known_files)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = given.content.encode("utf-8", errors="surrogatepass")
    path.write_bytes(content)
    invocation.known_files[str(path)] = digest(content)
    name = shown(directory, path)
    return Output(f"Wrote {len(content)} bytes to {name}.", files=(name,))


TOOL = builtin(
    "write",
    WriteArguments,
    write,
    permission="edit",
    needs=lambda given, directory: file_access("edit", directory, given.filePath),
)
