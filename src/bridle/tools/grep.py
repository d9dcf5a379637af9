"""Finds lines by regular expression."""

from __future__ import annotations

from typing import Annotated

import msgspec

from bridle.tools.builtin import builtin
from bridle.tools.paths import file_access, located, shown
from bridle.tools.ripgrep import listed, ripgrep
from bridle.tools.tool import Invocation, Output

MAX_LINES = 200


class GrepArguments(msgspec.Struct, forbid_unknown_fields=True):
    pattern: Annotated[str, msgspec.Meta(description="A regular expression")]
    path: Annotated[str, msgspec.Meta(description="The file or folder to look in")] = "."
    include: Annotated[str | None, msgspec.Meta(description="Only files that fit this pattern")] = None


async def grep(given: GrepArguments, invocation: Invocation) -> Output:
    root = invocation.directory.resolve()
    target = located(root, given.path)
    arguments = ["--line-number", "--with-filename", "--hidden", "--glob", "!.git", "--max-columns", "400"]
    if given.include is not None:
        arguments += ["--glob", given.include]
    if target.is_dir():
        # Secrets are read only where a person was asked about that very file.
        arguments += ["--glob", "!*.env", "--glob", "!*.env.*"]
    # From the project's folder, so that a path that was found is one that can be read.
    status, text = await ripgrep([*arguments, "--regexp", given.pattern, "--", shown(root, target)], root)
    if status > 1:
        return Output(text, failed=True)
    lines = [line.removeprefix("./") for line in text.splitlines()]
    return Output(listed(lines, MAX_LINES) or "Nothing found.")


TOOL = builtin(
    "grep",
    GrepArguments,
    grep,
    needs=lambda given, directory: file_access("grep", directory, given.path),
    repeatable=True,
)
