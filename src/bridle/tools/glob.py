"""Finds files by pattern, the newest first."""

from __future__ import annotations

from typing import Annotated

import msgspec

from bridle.tools.builtin import builtin
from bridle.tools.paths import file_access, located, shown
from bridle.tools.ripgrep import listed, ripgrep
from bridle.tools.tool import Invocation, Output

MAX_FILES = 100


class GlobArguments(msgspec.Struct, forbid_unknown_fields=True):
    pattern: Annotated[str, msgspec.Meta(description="A pattern such as **/*.py")]
    path: Annotated[str, msgspec.Meta(description="The folder to look in")] = "."


async def glob(given: GlobArguments, invocation: Invocation) -> Output:
    directory = invocation.directory
    folder = located(directory, given.path)
    arguments = ["--files", "--hidden", "--glob", "!.git", "--glob", given.pattern, "--sortr", "modified"]
    status, text = await ripgrep(arguments, folder)
    if status > 1:
        return Output(text, failed=True)
    found = [shown(directory, folder / line) for line in text.splitlines()]
    return Output(listed(found, MAX_FILES) or "No files found.")


TOOL = builtin(
    "glob",
    GlobArguments,
    glob,
    needs=lambda given, directory: file_access("glob", directory, given.path),
    repeatable=True,
)
