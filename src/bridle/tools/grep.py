"""Finds lines by regular expression, in the files that this call might also read."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Annotated

import msgspec

from bridle.core.permission import Access
from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin
from bridle.tools.ripgrep import Search, ripgrep
from bridle.tools.tool import Invocation, Output
from bridle.workspace.files import Files, Place, accesses, located

MAX_LINES = 200
MAX_COLUMNS = 400
FORM = ["--null", "--line-number", "--byte-offset", "--with-filename", "--no-heading", "--color", "never"]
HELD = 100
"""So many bytes of a line are compared with the file itself."""


class GrepArguments(msgspec.Struct, forbid_unknown_fields=True):
    pattern: Annotated[str, msgspec.Meta(description="A regular expression")]
    path: Annotated[str, msgspec.Meta(description="The file or folder to look in")] = "."
    include: Annotated[str | None, msgspec.Meta(description="Only files that fit this pattern")] = None


async def grep(given: GrepArguments, invocation: Invocation) -> Output:
    files = invocation.files
    target = files.place("grep", given.path)
    arguments = [*FORM, "--encoding", "none", "--hidden", "--glob", "!.git", "--max-columns-preview"]
    arguments += ["--max-columns", str(MAX_COLUMNS)]
    if given.include is not None:
        arguments += ["--glob", given.include]
    if files.entries(target, 1) is None:
        # The search would wait for ever at a pipe.
        with files.opened(target):
            pass
    found = _Found(files, target.root, target.project)
    # From the project's folder, so that a path that was found is one that can be read.
    async with ripgrep([*arguments, "--regexp", given.pattern, "--", f"./{target.inner}"], target.root) as search:
        while len(found.lines) <= MAX_LINES and await found.take(search):
            continue
        problem = "" if found.lines else await search.complained()
    found.close()
    if problem:
        return Output(problem, failed=True)
    return Output(found.text())


class _Found:
    """What ripgrep proposes, as far as the files by handle say the same and may be read."""

    def __init__(self, files: Files, root: Path, project: Path) -> None:
        self.lines: list[str] = []
        self._files = files
        self._root, self._project = root, project
        self._handles: dict[str, int] = {}
        self._left_out: set[str] = set()

    async def take(self, search: Search) -> bool:
        """One more line; False at the end."""
        name, rest = await search.until(b"\0"), await search.until(b"\n")
        if name is None or rest is None:
            return False
        number, offset, line = rest.split(b":", 2)
        place = Place(self._root, PurePosixPath(os.fsdecode(name)), self._project)
        handle = self._handle(place)
        if handle is not None and os.pread(handle, HELD, int(offset)).startswith(line[:HELD]):
            text = line.decode("utf-8", errors="replace").rstrip("\r")
            self.lines.append(f"{place.shown}:{int(number)}:{text}")
        return True

    def _handle(self, place: Place) -> int | None:
        """The file, kept open while its lines come; None if it may not be read."""
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
            notes.append(f"[{len(self._left_out)} files were left out: reading them needs a permission]")
        shown = "\n".join(self.lines[:MAX_LINES]) or "Nothing found."
        return "\n\n".join([shown, *notes])


def _needs(given: GrepArguments, directory: Path) -> tuple[Access, ...]:
    place = located(directory, given.path)
    needed = accesses("grep", place)
    return needed if place.path.is_dir() else (*needed, *accesses("read", place))


TOOL = builtin("grep", GrepArguments, grep, needs=_needs, repeatable=True)
