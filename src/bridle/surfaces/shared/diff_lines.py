"""Reads unified diffs, and makes lines of a diff from two texts; for the views of every surface."""

from __future__ import annotations

import difflib
import re
from typing import Literal, NamedTuple

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NO_FILE = "/dev/null"
Kind = Literal["same", "added", "removed", "gap", "note"]
KINDS: dict[str, tuple[Kind, int, int]] = {" ": ("same", 1, 1), "-": ("removed", 1, 0), "+": ("added", 0, 1)}
"""The kind of a line by its first character, and how many lines of both files it is."""


class DiffLine(NamedTuple):
    """A line of a diff, with its numbers in both files; 0 where it has none. A gap has neither numbers nor text."""

    kind: Kind
    text: str = ""
    old: int = 0
    new: int = 0


class DiffOfFile(NamedTuple):
    """The changes of one file."""

    path: str
    lines: tuple[DiffLine, ...]
    how: Literal["added", "changed", "deleted"] = "changed"

    @property
    def added(self) -> int:
        return sum(line.kind == "added" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.kind == "removed" for line in self.lines)


def file_diffs(diff: str) -> list[DiffOfFile]:
    """Return the files of a unified diff. Lines that belong to no hunk are notes of their file."""
    found: list[DiffOfFile] = []
    reader = _Reader()
    lines = diff.split("\n")
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if not reader.in_hunk and line.startswith("--- ") and following.startswith("+++ "):
            found += reader.ended()
            reader = _Reader(_name(line), _name(following))
        elif not (line.startswith("+++ ") and not reader.in_hunk):
            reader.take(line)
    return [*found, *reader.ended()]


def _name(line: str) -> str:
    path = line[4:].split("\t", 1)[0].strip()
    return path[2:] if path[:2] in ("a/", "b/") else path


class _Reader:
    """The lines of one file, as they are read."""

    def __init__(self, old: str = "", new: str = "") -> None:
        self._names = old, new
        self._lines: list[DiffLine] = []
        self._places = [0, 0]
        self._left = [0, 0]

    @property
    def in_hunk(self) -> bool:
        """Whether the hunk announces more lines: one of them may look like the head of a file."""
        return any(count > 0 for count in self._left)

    def take(self, line: str) -> None:
        head = HUNK.match(line)
        if head is not None and not self.in_hunk:
            if self._lines:
                self._lines.append(DiffLine("gap"))
            self._places = [int(head[1]), int(head[3])]
            self._left = [int(count) if count is not None else 1 for count in (head[2], head[4])]
        elif self.in_hunk and line[:1] in KINDS:
            kind, in_old, in_new = KINDS[line[:1]]
            old, new = self._places
            self._lines.append(DiffLine(kind, line[1:], old * in_old, new * in_new))
            self._places = [old + in_old, new + in_new]
            self._left = [self._left[0] - in_old, self._left[1] - in_new]
        elif line:
            self._left = [0, 0]
            self._lines.append(DiffLine("note", line.strip("[]")))

    def ended(self) -> list[DiffOfFile]:
        """Return the file; none if nothing was read."""
        old, new = self._names
        if not new:
            return []
        if old == NO_FILE:
            return [DiffOfFile(new, tuple(self._lines), "added")]
        if new == NO_FILE:
            return [DiffOfFile(old, tuple(self._lines), "deleted")]
        return [DiffOfFile(new, tuple(self._lines))]


def compared(before: str, after: str) -> list[DiffLine]:
    """Return the difference of two texts whose places in their file are not known."""
    old, new = before.splitlines(), after.splitlines()
    found: list[DiffLine] = []
    for tag, start, end, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found += [DiffLine("same", line) for line in old[start:end]]
        else:
            found += [DiffLine("removed", line) for line in old[start:end]]
            found += [DiffLine("added", line) for line in new[first:last]]
    return found
