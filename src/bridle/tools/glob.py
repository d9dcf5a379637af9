"""The `glob` tool: find files by pattern, newest first."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated

import msgspec

from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin, path_needs
from bridle.tools.glob_patterns import fitting
from bridle.tools.ripgrep import ripgrep
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import Place, found_at

MAX_FILES = 100


class GlobArguments(msgspec.Struct, forbid_unknown_fields=True):
    pattern: Annotated[str, msgspec.Meta(description="A pattern such as **/*.py")]
    path: Annotated[str, msgspec.Meta(description="The folder to look in")] = "."


async def glob(given: GlobArguments, invocation: Invocation) -> Output:
    files = invocation.files
    folder = files.place("glob", given.path)
    if files.entries(folder, 1) is None:
        raise ToolFailed(f"{folder.shown} is not a folder.")
    sought = _sought(given.pattern, folder)
    arguments = ["--files", "--null", "--no-messages", "--hidden", "--glob", "!.git", "--sortr", "modified"]
    found: list[str] = []
    async with ripgrep(arguments, folder.path, invocation.commands.directory) as search:
        while len(found) <= MAX_FILES and (name := await search.until(b"\0")) is not None:
            inner = PurePosixPath(name.decode("utf-8", errors="surrogateescape"))
            # A pattern without a folder matches file names in every folder.
            if not (sought.fullmatch(str(inner)) or ("/" not in given.pattern and sought.fullmatch(inner.name))):
                continue
            place = found_at(folder, folder.inner / inner)
            if place.inside == folder.inside and files.reaches(place):
                found.append(place.shown)
    more = f"\n\n[only the newest {MAX_FILES}; narrow the pattern for others]" if len(found) > MAX_FILES else ""
    return Output("\n".join(found[:MAX_FILES]) + more or "No files found.")


def _sought(pattern: str, folder: Place) -> re.Pattern[str]:
    """Compile the pattern relative to the searched folder: models also write absolute paths."""
    return fitting(pattern.removeprefix(f"{folder.path}/"))


TOOL = builtin("glob", GlobArguments, glob, needs=path_needs("glob", "path"), repeatable=True)
