"""Shapes of tool calls for editors: kind, title, files, changes and output, from the name and the arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bridle.surfaces.acp.answers import (
    AskedCall,
    Content,
    Image,
    Location,
    TextChange,
    TextContent,
    ToolContent,
    ToolKind,
)
from bridle.surfaces.shared.safe_text import line, plain

KINDS: dict[str, ToolKind] = {
    "read": "read",
    "list": "read",
    "skill": "read",
    "edit": "edit",
    "write": "edit",
    "apply_patch": "edit",
    "bash": "execute",
    "glob": "search",
    "grep": "search",
    "webfetch": "fetch",
    "todowrite": "think",
    "todoread": "think",
    "task": "think",
    "question": "think",
}
TELLING = {
    "bash": "command",
    "read": "filePath",
    "write": "filePath",
    "edit": "filePath",
    "list": "path",
    "glob": "pattern",
    "grep": "pattern",
    "webfetch": "url",
    "task": "description",
    "skill": "name",
}
"""The argument that is shown in the title of a call."""
VERBS = {"read": "Read", "write": "Write", "edit": "Edit", "list": "List", "glob": "Find", "grep": "Search for"}
HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@.*$", re.MULTILINE)
HEADER = re.compile(r"^(?:\+\+\+|---) (?:[ab]/)?(.+?)\t?$", re.MULTILINE)
NOTHING = "/dev/null"
MOST_TITLE = 200
MOST_OUTPUT = 8_000
"""Characters of the output of a call: the last ones count."""


class CallShape(msgspec.Struct, frozen=True):
    """A call of the model as an editor draws it."""

    id: str
    title: str
    kind: ToolKind
    given: Any
    locations: tuple[Location, ...] = ()
    content: tuple[ToolContent, ...] = ()
    """The change that the call makes, as far as its arguments tell."""

    def asked(self, diff: str, directory: Path, text: str) -> AskedCall:
        """Return the call of a permission request; `diff` is the change that it would make."""
        changes = tuple(hunks(diff, directory)) or self.content or (Content(content=TextContent(text=plain(text))),)
        return AskedCall(
            tool_call_id=self.id,
            title=self.title,
            kind=self.kind,
            status="pending",
            raw_input=self.given,
            locations=self.locations,
            content=changes,
        )


def shaped(id: str, tool: str, given: Any, directory: Path) -> CallShape:
    """Return a call as an editor draws it; `given` is None while the model still writes the arguments."""
    found = given if isinstance(given, dict) else {}
    path = found.get("filePath")
    place = _absolute(path, directory) if isinstance(path, str) and path else ""
    first = found.get("offset")
    at = first if tool == "read" and isinstance(first, int) and first > 0 else None
    return CallShape(
        id=id,
        title=_title(tool, found),
        kind=KINDS.get(tool, "other"),
        given=given,
        locations=(Location(path=place, line=at),) if place else (),
        content=tuple(_changes(tool, found, place)),
    )


def output(text: str) -> tuple[ToolContent, ...]:
    """Return the output of a call as content."""
    return (Content(content=TextContent(text=plain(text[-MOST_OUTPUT:]))),) if text else ()


def image(media: str, data: str) -> ToolContent:
    """Return an image that a call has made as content."""
    return Content(content=Image(data=data, mime_type=media))


def hunks(diff: str, directory: Path) -> Iterator[TextChange]:
    """Yield the hunks of a unified diff, each with its lines before and after."""
    names = [name for name in HEADER.findall(diff) if name != NOTHING]
    if not names:
        return
    path, pieces = _absolute(names[-1], directory), HUNK.split(diff)
    # After the header come the number of a line and the lines of its hunk, in turn.
    for lines in pieces[2::2]:
        kept = [each for each in lines.removeprefix("\n").splitlines() if not each.startswith("\\")]
        old = "".join(f"{each[1:]}\n" for each in kept if each[:1] in (" ", "-", ""))
        new = "".join(f"{each[1:]}\n" for each in kept if each[:1] in (" ", "+", ""))
        is_new = f"--- {NOTHING}" in pieces[0]
        yield TextChange(path=path, old_text=None if is_new else plain(old), new_text=plain(new))


def _changes(tool: str, given: dict[str, Any], place: str) -> Iterator[TextChange]:
    if not place:
        return
    if tool == "write" and isinstance(text := given.get("content"), str):
        yield TextChange(path=place, old_text=None, new_text=plain(text))
    elif tool == "edit":
        old, new = given.get("oldString"), given.get("newString")
        if isinstance(old, str) and isinstance(new, str):
            yield TextChange(path=place, old_text=plain(old), new_text=plain(new))


def _title(tool: str, given: dict[str, Any]) -> str:
    told = given.get(TELLING.get(tool, ""), "")
    if not isinstance(told, str) or not told:
        return line(tool)[:MOST_TITLE]
    words = line(told)
    title = words if tool == "bash" else f"{VERBS.get(tool, f'{tool}:')} {words}"
    return title[:MOST_TITLE]


def _absolute(path: str, directory: Path) -> str:
    return line(str(directory / path))
