"""Replaces text for the `edit` tool: exactly, or ignoring white space and quotes, but never at an ambiguous place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bridle.errors import ToolFailed

QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"})
Span = tuple[int, int]


class Replacement(NamedTuple):
    """The changed content, the number of replacements, and the differences ignored if the match was not exact."""

    content: str
    places: int
    reading: str = ""


def replaced(content: str, old: str, new: str, *, everywhere: bool, name: str) -> Replacement:
    """Replace the old text by the new one. Raises `ToolFailed` if it is not found or the place is ambiguous."""
    first = content.find(old)
    if first >= 0:
        if content.find(old, first + 1) >= 0 and not everywhere:
            raise _ambiguous(max(content.count(old), 2), name)
        return Replacement(content.replace(old, new), content.count(old))
    for words, old_read, new_read, reading in _readings(old, new):
        spans = _same_lines(content, old_read, reading)
        if len(spans) > 1 and not everywhere:
            raise _ambiguous(len(spans), name)
        for start, end in reversed(spans):
            there = content[start:end]
            content = content[:start] + _ended(_fitted(there, old_read, new_read, name), there) + content[end:]
        if spans:
            return Replacement(content, len(spans), words)
    raise ToolFailed(f"oldString was not found in {name}. Read the file again and copy the text exactly.")


def _ambiguous(places: int, name: str) -> ToolFailed:
    return ToolFailed(f"oldString occurs {places} times in {name}. Include more surrounding text, or set replaceAll.")


Reading = Callable[[str], str]


def _readings(old: str, new: str) -> Iterator[tuple[str, str, str, Reading]]:
    """Yield ever more tolerant ways to compare lines, each with its texts; the caller uses the first match."""
    trimmed_old, trimmed_new = _without_blank_ends(old, new)
    yield "white space at line ends", trimmed_old, trimmed_new, str.rstrip
    yield "indentation", trimmed_old, trimmed_new, str.strip
    yield "white space", trimmed_old, trimmed_new, _one_spaced
    yield "quotes and dashes", trimmed_old, trimmed_new, _plainly
    if re.search(r'\\[nt"\']', old):
        yield "escapes", *_without_blank_ends(_unescaped(old), _unescaped(new)), str.strip


def _without_blank_ends(old: str, new: str) -> tuple[str, str]:
    """Return both texts without their common leading and trailing empty lines, which need not match."""
    while old.startswith("\n") and old.strip("\n"):
        old, new = old[1:], new.removeprefix("\n")
    while old.endswith("\n\n"):
        old, new = old[:-1], new.removesuffix("\n") if new.endswith("\n\n") else new
    return old, new


def _one_spaced(line: str) -> str:
    return " ".join(line.split())


def _plainly(line: str) -> str:
    return _one_spaced(unicodedata.normalize("NFKC", line).translate(QUOTES))


def _unescaped(text: str) -> str:
    named = {"n": "\n", "t": "\t"}
    return re.sub(r'\\([nt"\'\\])', lambda found: named.get(found[1], found[1]), text)


def _same_lines(content: str, old: str, reading: Reading) -> list[Span]:
    """Return the spans of whole lines that are equal under a reading."""
    lines = content.split("\n")
    wanted = [reading(line) for line in old.removesuffix("\n").split("\n")]
    if not any(wanted):
        return []
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    read = [reading(line) for line in lines]
    found: list[Span] = []
    index = 0
    while index + len(wanted) <= len(read):
        if read[index] == wanted[0] and read[index : index + len(wanted)] == wanted:
            after = index + len(wanted)
            end = starts[after] if old.endswith("\n") else starts[after - 1] + len(lines[after - 1])
            found.append((starts[index], min(end, len(content))))
            index = after
        else:
            index += 1
    return found


def _fitted(there: str, old: str, new: str, name: str) -> str:
    """Return the new text with the file's indentation if the model's differs consistently. Raises `ToolFailed`."""
    theirs: dict[str, str] = {}
    for mine, line in zip(old.split("\n"), there.split("\n"), strict=False):
        if mine.strip() and theirs.setdefault(indent(mine), indent(line)) != indent(line):
            raise _unsure(name)
    if all(given == found for given, found in theirs.items()):
        return new
    return "\n".join(_indented(line, theirs, name) for line in new.split("\n"))


def _ended(made: str, there: str) -> str:
    """Return the new text with the file's last line end: every reading treats CR as white space."""
    if there.endswith("\r\n") and made.endswith("\n") and not made.endswith("\r\n"):
        return f"{made[:-1]}\r\n"
    return f"{made}\r" if there.endswith("\r") and not made.endswith("\r") else made


def _indented(line: str, theirs: dict[str, str], name: str) -> str:
    given = indent(line)
    if not line.strip():
        return line
    if given in theirs:
        return theirs[given] + line[len(given) :]
    # Deeper than any replaced line: indent relative to the nearest known level.
    nearest = max((known for known in theirs if given.startswith(known)), key=len, default=None)
    if nearest is None or "\t" in theirs[nearest]:
        raise _unsure(name)
    return theirs[nearest] + line[len(nearest) :]


def _unsure(name: str) -> ToolFailed:
    return ToolFailed(f"oldString and {name} are indented differently. Copy the text with its indentation.")


def indent(line: str) -> str:
    """Return the white space at the beginning of a line."""
    return line[: len(line) - len(line.lstrip())]
