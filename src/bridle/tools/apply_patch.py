"""The `apply_patch` tool: apply a patch to several files, completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import msgspec

from bridle.core.context import sound
from bridle.core.permission import Access
from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin, diff_preview
from bridle.tools.file_changes import FileChange, applied, editing, settled
from bridle.tools.patch_format import Added, Deleted, Piece, Updated, pieces, updated
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import Files, Place, accesses, located


class PatchArguments(msgspec.Struct, forbid_unknown_fields=True):
    patchText: Annotated[str, msgspec.Meta(description="The whole patch")]


def changes(given: PatchArguments, files: Files, known: dict[str, str] | None) -> list[FileChange]:
    """Return the changes that the patch makes. Raises `ToolFailed` if any piece of it cannot be applied."""
    made: list[FileChange] = []
    for piece in pieces(given.patchText):
        made += _changes(piece, files, known)
    paths = [change.place.path for change in made]
    inside = [path for path in paths for other in paths if path != other and path.is_relative_to(other)]
    if inside:
        raise ToolFailed(f"{inside[0]} lies below another file of the patch.")
    if len(set(paths)) < len(paths):
        raise ToolFailed("The patch names a file twice; put all its changes into one piece.")
    return made


def _changes(piece: Piece, files: Files, known: dict[str, str] | None) -> list[FileChange]:
    place = files.place("edit", piece.path)
    if os.path.islink(files.project / piece.path) and not (isinstance(piece, Updated) and not piece.moved):
        raise ToolFailed(f"{piece.path} is a link; a patch adds, moves and deletes only files.")
    match piece:
        case Added():
            if files.is_there(place):
                raise ToolFailed(f"{place.shown} exists; update it instead of adding it.")
            return [FileChange(place, None, sound(piece.content).encode(), "A")]
        case Deleted():
            return [FileChange(place, settled(files, place, known).content, None, "D")]
        case Updated():
            before = settled(files, place, known)
            after = before.encoded(updated(before.text, piece.hunks, place.shown))
            if not piece.moved:
                return [FileChange(place, before.content, after, "M")]
            target = files.place("edit", piece.moved)
            if files.is_there(target):
                raise ToolFailed(f"{target.shown} exists; nothing is moved there.")
            mode = files.mode(place)
            return [FileChange(place, before.content, None, "D", mode), FileChange(target, None, after, "A", mode)]


def _places(given: PatchArguments, directory: Path) -> list[Place]:
    named = [(piece.path, piece.moved if isinstance(piece, Updated) else "") for piece in pieces(given.patchText)]
    return [located(directory, path) for pair in named for path in pair if path]


def _needs(given: PatchArguments, directory: Path) -> tuple[Access, ...]:
    return tuple(access for place in _places(given, directory) for access in accesses("edit", place))


async def apply_patch(given: PatchArguments, invocation: Invocation) -> Output:
    async with editing(_places(given, invocation.directory)):
        made = changes(given, invocation.files, invocation.known_files)
        return await applied(made, invocation, "\n".join(f"{change.note} {change.place.shown}" for change in made))


PREVIEW = diff_preview(changes)
TOOL = builtin("apply_patch", PatchArguments, apply_patch, permission="edit", needs=_needs, preview=PREVIEW)
