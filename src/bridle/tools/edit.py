"""Replaces an exact piece of a file."""

from __future__ import annotations

from typing import Annotated

import msgspec

from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin
from bridle.tools.paths import digest, file_access, located, regular, shown, unchanged
from bridle.tools.tool import Invocation, Output


class EditArguments(msgspec.Struct, forbid_unknown_fields=True):
    filePath: Annotated[str, msgspec.Meta(description="The file")]
    oldString: Annotated[str, msgspec.Meta(description="The text to replace, exactly as it stands")]
    newString: Annotated[str, msgspec.Meta(description="The text to put in its place")]
    replaceAll: Annotated[bool, msgspec.Meta(description="Replace every place where it stands")] = False


async def edit(given: EditArguments, invocation: Invocation) -> Output:
    directory = invocation.directory
    path = located(directory, given.filePath)
    name = shown(directory, path)
    regular(directory, path)
    unchanged(directory, path, invocation.known_files)
    if not given.oldString or given.oldString == given.newString:
        raise ToolFailed("oldString must not be empty and must differ from newString.")
    content = path.read_bytes()
    old, new = given.oldString.encode(), given.newString.encode()
    if b"\r\n" in content and b"\r\n" not in old:
        # The model reads lines, not their endings: a file keeps the ones that it has.
        old, new = old.replace(b"\n", b"\r\n"), new.replace(b"\n", b"\r\n")
    places = content.count(old)
    if places == 0:
        raise ToolFailed(f"oldString was not found in {name}. It must match exactly, white space included.")
    if places > 1 and not given.replaceAll:
        raise ToolFailed(f"oldString stands {places} times in {name}. Give more of its surroundings, or replaceAll.")
    changed = content.replace(old, new)
    path.write_bytes(changed)
    invocation.known_files[str(path)] = digest(changed)
    return Output(f"Replaced {places} place{'' if places == 1 else 's'} in {name}.", files=(name,))


TOOL = builtin(
    "edit",
    EditArguments,
    edit,
    needs=lambda given, directory: file_access("edit", directory, given.filePath),
)
