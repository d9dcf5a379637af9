"""The `write` tool: write a whole file."""

from __future__ import annotations

from typing import Annotated

import msgspec

from bridle.core.context import sound
from bridle.tools.builtin import builtin, diff_preview, path_needs
from bridle.tools.file_changes import FileChange, applied, editing, settled
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import Files, located


class WriteArguments(msgspec.Struct, forbid_unknown_fields=True):
    filePath: Annotated[str, msgspec.Meta(description="The file")]
    content: Annotated[str, msgspec.Meta(description="Everything that the file shall hold")]


def changes(given: WriteArguments, files: Files, known: dict[str, str] | None) -> list[FileChange]:
    """Return the change that the call makes. Raises `ToolFailed` if it is impossible."""
    place = files.place("edit", given.filePath)
    if not files.is_there(place):
        return [FileChange(place, None, sound(given.content).encode())]
    before = settled(files, place, known)
    return [FileChange(place, before.content, before.encoded(before.given(given.content)))]


async def write(given: WriteArguments, invocation: Invocation) -> Output:
    async with editing([located(invocation.directory, given.filePath)]):
        made = changes(given, invocation.files, invocation.known_files)
        return await applied(made, invocation, f"Wrote {len(made[0].after or b'')} bytes to {made[0].place.shown}.")


NEEDS = path_needs("edit", "filePath")
TOOL = builtin("write", WriteArguments, write, permission="edit", needs=NEEDS, preview=diff_preview(changes))
