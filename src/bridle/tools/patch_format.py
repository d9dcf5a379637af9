"""Parses the `*** Begin Patch` format and applies its hunks to a file's text; it neither reads nor writes files."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from bridle.errors import ToolFailed
from bridle.tools.text_match import indent

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, DELETE, UPDATE, MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
END_OF_FILE = "*** End of File"


class Hunk(NamedTuple):
    """One change: lines with their signs. `within` are the `@@` lines that precede it in the file."""

    within: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    at_end: bool

    @property
    def old(self) -> list[str]:
        return [text for sign, text in self.lines if sign != "+"]


class Added(NamedTuple):
    path: str
    content: str


class Deleted(NamedTuple):
    path: str


class Updated(NamedTuple):
    path: str
    moved: str
    hunks: tuple[Hunk, ...]


Piece = Added | Deleted | Updated


def pieces(text: str) -> list[Piece]:
    """Parse a patch. Raises `ToolFailed` with the invalid line."""
    lines = text.strip().replace("\r\n", "\n").split("\n")
    if lines and lines[0].startswith("<<"):
        # Some models wrap the patch in a shell heredoc.
        lines = lines[1:-1]
    if not lines or lines[0].strip() != BEGIN or lines[-1].strip() != END:
        raise ToolFailed(f"A patch begins with {BEGIN!r} and ends with {END!r}.")
    body = lines[1:-1]
    if not body:
        raise ToolFailed("The patch changes nothing.")
    starts = [index for index, line in enumerate(body) if not index or line.startswith((ADD, DELETE, UPDATE))]
    return [_piece(body[start], body[start + 1 : end]) for start, end in pairwise([*starts, len(body)])]


def _piece(line: str, body: list[str]) -> Piece:
    if line.startswith(ADD):
        wrong = next((given for given in body if not given.startswith("+")), None)
        if wrong is not None:
            raise ToolFailed(f"Every line of an added file begins with '+', not as in {wrong!r}.")
        return Added(line.removeprefix(ADD).strip(), "".join(f"{given[1:]}\n" for given in body))
    if line.startswith(DELETE):
        if any(given.strip() for given in body):
            raise ToolFailed("Nothing follows a file that is deleted.")
        return Deleted(line.removeprefix(DELETE).strip())
    if line.startswith(UPDATE):
        moved = ""
        if body and body[0].startswith(MOVE):
            moved = body[0].removeprefix(MOVE).strip()
            body = body[1:]
        hunks = _hunks(body)
        if not hunks and not moved:
            raise ToolFailed(f"{line!r} is followed by no change.")
        return Updated(line.removeprefix(UPDATE).strip(), moved, hunks)
    raise ToolFailed(f"A piece of a patch begins with {ADD!r}, {DELETE!r} or {UPDATE!r}, not with {line!r}.")


def _hunks(body: list[str]) -> tuple[Hunk, ...]:
    found: list[Hunk] = []
    within: list[str] = []
    lines: list[tuple[str, str]] = []

    def close(*, at_end: bool = False) -> None:
        nonlocal within, lines
        if lines:
            found.append(Hunk(tuple(within), tuple(lines), at_end))
            within, lines = [], []

    for line in body:
        if line.startswith("@@"):
            close()
            context = line[2:].strip().removesuffix("@@").strip()
            within = [*within, context] if context and not context.startswith("-") else within
        elif line.strip() == END_OF_FILE:
            close(at_end=True)
        elif line[:1] in ("+", "-", " "):
            lines.append((line[0], line[1:]))
        elif not line:
            lines.append((" ", ""))
        else:
            raise ToolFailed(f"A line of a change begins with ' ', '+', '-' or '@@', not as in {line!r}.")
    close()
    return tuple(found)


def updated(text: str, hunks: tuple[Hunk, ...], name: str) -> str:
    """Return the text with all changes applied in order. Raises `ToolFailed` if the lines of one are not found."""
    final = text.endswith("\n") or not text
    lines = text.removesuffix("\n").split("\n") if text else []
    result: list[str] = []
    done = 0
    for hunk in hunks:
        start = done
        for context in hunk.within:
            start = _line(lines, context, start, name) + 1
        place = _find(lines, hunk, start, name)
        there = lines[place : place + len(hunk.old)]
        result += [*lines[done:place], *_changed(hunk, there)]
        done = place + len(there)
    result += lines[done:]
    return "\n".join(result) + ("\n" if final and result else "")


def _changed(hunk: Hunk, there: list[str]) -> list[str]:
    """Apply a change to the lines of the file. Unchanged lines keep the file's own white space."""
    result: list[str] = []
    index = 0
    shift = next(
        ((indent(old), indent(line)) for old, line in zip(hunk.old, there, strict=True) if old.strip()), ("", "")
    )
    for sign, text in hunk.lines:
        if sign == "+":
            given, theirs = shift
            result.append(theirs + text[len(given) :] if text.strip() and text.startswith(given) else text)
            continue
        if sign == " ":
            result.append(there[index])
        index += 1
    return result


def _line(lines: list[str], wanted: str, start: int, name: str) -> int:
    for index in range(start, len(lines)):
        if lines[index].strip() == wanted:
            return index
    if any(line.strip() == wanted for line in lines[:start]):
        # The previous change is below the same `@@` line.
        return start - 1
    raise ToolFailed(f"{name}: the line {wanted!r} after @@ was not found.")


def _find(lines: list[str], hunk: Hunk, start: int, name: str) -> int:
    if not hunk.old:
        return len(lines) if hunk.at_end or not hunk.within else start
    for same in (str, str.rstrip, str.strip):
        wanted = [same(line) for line in hunk.old]
        places = [
            index
            for index in range(start, len(lines) - len(wanted) + 1)
            if [same(line) for line in lines[index : index + len(wanted)]] == wanted
        ]
        if hunk.at_end:
            places = [index for index in places if index + len(wanted) == len(lines)]
        if places:
            return places[0]
    shown = "\n".join(hunk.old[:5])
    raise ToolFailed(f"{name}: these lines were not found, at least not below the changes before them:\n{shown}")
