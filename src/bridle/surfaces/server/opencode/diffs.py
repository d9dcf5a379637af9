"""`file_diffs`: the files of a unified diff, each with its patch and its number of added and removed lines."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal

from bridle.surfaces.server.opencode.shapes import FileDiff

GIT_HEADER = re.compile(r"^diff --git ", re.MULTILINE)
HEADER = re.compile(r"^--- (?=.+\n\+\+\+ )", re.MULTILINE)
NAMED = re.compile(r"^(?:\+\+\+|---) (?:[ab]/)?(.+?)\t?$", re.MULTILINE)
NOTHING = "/dev/null"


def file_diffs(text: str) -> tuple[FileDiff, ...]:
    """Return the files of a diff as git writes it, or as plain unified diffs one after the other."""
    form = GIT_HEADER if text.startswith("diff --git ") else HEADER
    starts = [*(found.start() for found in form.finditer(text)), len(text)]
    return tuple(_file(text[start:end]) for start, end in pairwise(starts))


def _file(patch: str) -> FileDiff:
    head, at, hunks = patch.partition("\n@@")
    names = [name for name in NAMED.findall(head) if name != NOTHING]
    first = head.partition("\n")[0]
    name = names[-1] if names else first.rpartition(" b/")[2]
    lines = hunks.splitlines() if at else []
    status: Literal["added", "deleted", "modified"] = "modified"
    if "\nnew file mode" in head or "--- /dev/null" in head:
        status = "added"
    elif "\ndeleted file mode" in head or "\n+++ /dev/null" in head:
        status = "deleted"
    return FileDiff(
        file=name,
        additions=sum(line[:1] == "+" for line in lines),
        deletions=sum(line[:1] == "-" for line in lines),
        status=status,
        patch=patch,
    )
