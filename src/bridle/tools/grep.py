"""The `grep` tool: find lines by regular expression, in files that the call is allowed to read."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Annotated

import msgspec

from bridle.core.limits import counted
from bridle.core.permission import Access
from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin
from bridle.tools.glob_patterns import fitting
from bridle.tools.ripgrep import Search, ripgrep
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import Files, Place, accesses, found_at, is_folder, located

MAX_LINES = 200
MAX_COLUMNS = 400
FORM = ["--null", "--line-number", "--byte-offset", "--with-filename", "--no-heading", "--color=never", "--no-messages"]
LOOKS = ["--encoding", "none", "--hidden", "--glob", "!.git", "--sort", "path", "--max-columns-preview"]
NAMED = 5
HELD = 100
"""Bytes of each line that are compared with the file itself."""


class GrepArguments(msgspec.Struct, forbid_unknown_fields=True):
    pattern: Annotated[str, msgspec.Meta(description="A regular expression")]
    path: Annotated[str, msgspec.Meta(description="The file or folder to look in")] = "."
    include: Annotated[str | None, msgspec.Meta(description="Only files that fit this pattern")] = None


async def grep(given: GrepArguments, invocation: Invocation) -> Output:
    files = invocation.files
    target = files.place("grep", given.path)
    arguments = [*FORM, *LOOKS, "--max-columns", str(MAX_COLUMNS)]
    sought = fitting(given.include) if given.include is not None else None
    if given.include is not None and "/" not in given.include:
        # A type instead of a glob: a glob would include ignored files.
        arguments += ["--type-add", f"sought:{given.include}", "--type", "sought"]
    if files.entries(target, 1) is None:
        # Fails for a pipe, on which ripgrep would wait forever.
        with files.opened(target):
            pass
    found = _Found(files, target, sought)
    try:
        # Run in the project's folder, so that found paths can be passed to `read`.
        words = [*arguments, "--regexp", given.pattern, "--", f"./{target.inner}"]
        async with ripgrep(words, target.root, invocation.commands.directory) as search:
            while len(found.lines) <= MAX_LINES and await found.take(search):
                continue
            problem = "" if found.lines else await search.complained()
    finally:
        found.close()
    return Output(problem, failed=True) if problem else Output(found.text())


class _Found:
    """Matches of ripgrep that may be read and that the file itself, opened by handle, confirms."""

    def __init__(self, files: Files, target: Place, sought: re.Pattern[str] | None) -> None:
        self.lines: list[str] = []
        self._files = files
        self._target = target
        self._sought = sought
        self._handles: dict[str, int] = {}
        self._left_out: set[str] = set()
        self._binary = 0

    async def take(self, search: Search) -> bool:
        """Take one more line of output; return False at the end."""
        line = await search.until(b"\n")
        if line is None:
            return False
        name, parted, rest = line.partition(b"\0")
        parts = rest.split(b":", 2)
        if not parted or len(parts) != 3:
            # A message of ripgrep itself, for example about a binary file.
            self._binary += b"binary file matches" in line
            return True
        place = found_at(self._target, PurePosixPath(os.fsdecode(name)))
        if self._sought is not None and not self._fits(self._sought, place):
            return True
        handle = self._handle(place)
        if handle is not None and os.pread(handle, HELD, int(parts[1])).startswith(parts[2][:HELD]):
            text = parts[2].decode("utf-8", errors="replace").rstrip("\r")
            self.lines.append(f"{place.shown}:{int(parts[0])}:{text}")
        return True

    def _fits(self, sought: re.Pattern[str], place: Place) -> bool:
        inner = place.inner
        below = inner.relative_to(self._target.inner) if inner.is_relative_to(self._target.inner) else inner
        return any(sought.fullmatch(str(path)) for path in (inner, below, inner.name))

    def _handle(self, place: Place) -> int | None:
        """Return a handle of the file, kept open for its next lines; None if it may not be read."""
        name = place.shown
        if name not in self._handles and name not in self._left_out:
            self.close()
            try:
                self._files.check("grep", place)
                self._files.check("read", place)
                with self._files.opened(place) as handle:
                    self._handles[name] = os.dup(handle)
            except ToolFailed:
                self._left_out.add(name)
        return self._handles.get(name)

    def close(self) -> None:
        for handle in self._handles.values():
            os.close(handle)
        self._handles.clear()

    def text(self) -> str:
        notes: list[str] = []
        if len(self.lines) > MAX_LINES:
            notes.append(f"[only the first {MAX_LINES} lines; narrow the pattern for others]")
        if self._left_out:
            named = ", ".join(sorted(self._left_out)[:NAMED])
            notes.append(f"[left out because reading them needs permission: {named}]")
        if self._binary:
            notes.append(f"[also found in {counted(self._binary, 'binary file')}]")
        shown = "\n".join(self.lines[:MAX_LINES]) or "Nothing found."
        return "\n\n".join([shown, *notes])


def _needs(given: GrepArguments, directory: Path) -> tuple[Access, ...]:
    place = located(directory, given.path)
    needed = accesses("grep", place)
    return needed if is_folder(place) else (*needed, *accesses("read", place))


TOOL = builtin("grep", GrepArguments, grep, needs=_needs, repeatable=True)
