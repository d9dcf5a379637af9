"""The `edit` tool: replace text in a file."""

from __future__ import annotations

from typing import Annotated

import msgspec

from bridle.core.limits import counted
from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin, diff_preview, path_needs
from bridle.tools.file_changes import FileChange, applied, editing, settled
from bridle.tools.text_match import replaced
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import Files, located


class EditArguments(msgspec.Struct, forbid_unknown_fields=True):
    filePath: Annotated[str, msgspec.Meta(description="The file")]
    oldString: Annotated[str, msgspec.Meta(description="The text to replace, exactly as it stands")]
    newString: Annotated[str, msgspec.Meta(description="The text to put in its place")]
    replaceAll: Annotated[bool, msgspec.Meta(description="Replace every place where it stands")] = False


def changes(given: EditArguments, files: Files, known: dict[str, str] | None) -> list[FileChange]:
    """Return the change that the call makes. Raises `ToolFailed` if it is impossible."""
    place = files.place("edit", given.filePath)
    if not given.oldString or given.oldString == given.newString:
        raise ToolFailed("oldString must not be empty and must differ from newString.")
    before = settled(files, place, known)
    old, new = before.given(given.oldString), before.given(given.newString)
    made = replaced(before.text, old, new, everywhere=given.replaceAll, name=place.shown)
    note = counted(made.places, "place")
    note += f", found only by ignoring {made.reading}" if made.reading else ""
    return [FileChange(place, before.content, before.encoded(made.content), note)]


async def edit(given: EditArguments, invocation: Invocation) -> Output:
    async with editing([located(invocation.directory, given.filePath)]):
        made = changes(given, invocation.files, invocation.known_files)
        return await applied(made, invocation, f"Replaced in {made[0].place.shown}: {made[0].note}.")


TOOL = builtin("edit", EditArguments, edit, needs=path_needs("edit", "filePath"), preview=diff_preview(changes))
