"""The `list` tool: list a folder."""

from __future__ import annotations

from typing import Annotated

import msgspec

from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin, path_needs
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import Files, Place

MAX_ENTRIES = 1_000
MAX_LOOKED_AT = 100_000


class ListArguments(msgspec.Struct, forbid_unknown_fields=True):
    path: Annotated[str, msgspec.Meta(description="The folder")] = "."


def listing(files: Files, place: Place) -> str | None:
    """Return the first entries of a folder, one per line, and the number of others; None if it is not a folder."""
    entries = files.entries(place, MAX_LOOKED_AT)
    if not entries:
        return None if entries is None else "[the folder is empty]"
    more = f"\n\n[{len(entries) - MAX_ENTRIES} more]" if len(entries) > MAX_ENTRIES else ""
    return "\n".join(entries[:MAX_ENTRIES]) + more


async def list_folder(given: ListArguments, invocation: Invocation) -> Output:
    place = invocation.files.place("list", given.path)
    text = listing(invocation.files, place)
    if text is None:
        raise ToolFailed(f"{place.shown} is not a folder.")
    return Output(text)


TOOL = builtin("list", ListArguments, list_folder, needs=path_needs("list", "path"), repeatable=True)
