"""Where a text stands in a file: exactly, or as a model may have misremembered it, but never by a guess between two."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import islice

from bridle.errors import ToolFailed

Span = tuple[int, int]
ALIKE = 0.85
MOST_LINES = 1.5
MOST_ANCHORED = 200
MOST_COMPARED = 200
QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-"})


def replaced(content: str, old: str, new: str, *, everywhere: bool, name: str) -> tuple[str, int]:
    """The content with the new text in place of the old, and at how many places; raises `ToolFailed`."""
    if old in content:
        places = content.count(old)
        if places > 1 and not everywhere:
            raise _ambiguous(places, name)
        return content.replace(old, new), places
    for spans in _tolerant(content, old):
        if len(spans) > 1 and not everywhere:
            raise _ambiguous(len(spans), name)
        for start, end in reversed(spans):
            content = content[:start] + _fitted(content[start:end], old, new) + content[end:]
        if spans:
            return content, len(spans)
    raise ToolFailed(f"oldString was not found in {name}. Read the file again and copy the text as it stands.")


def _ambiguous(places: int, name: str) -> ToolFailed:
    return ToolFailed(f"oldString stands {places} times in {name}. Give more of its surroundings, or replaceAll.")


def _tolerant(content: str, old: str) -> Iterator[list[Span]]:
    """The places by ever wider readings; the first reading that finds any is taken."""
    readings: tuple[Callable[[str], str], ...] = (str.rstrip, str.strip, _one_spaced, _plainly)
    for reading in readings:
        yield _same_lines(content, old, reading)
    if "\\n" in old or "\\t" in old or '\\"' in old:
        yield _same_lines(content, _unescaped(old), str.strip)
    yield _anchored(content, old)


def _one_spaced(line: str) -> str:
    return " ".join(line.split())


def _plainly(line: str) -> str:
    return _one_spaced(unicodedata.normalize("NFKC", line).translate(QUOTES))


def _unescaped(text: str) -> str:
    named = {"n": "\n", "t": "\t"}
    return re.sub(r'\\([nt"\'\\])', lambda found: named.get(found[1], found[1]), text)


def _lines(text: str) -> tuple[list[str], list[int]]:
    """The lines without their ends, and where each begins; the last number lies behind the text."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return lines, starts


def _same_lines(content: str, old: str, reading: Callable[[str], str]) -> list[Span]:
    """Runs of whole lines that read the same; blank lines around the text are not insisted on."""
    lines, starts = _lines(content)
    wanted = [reading(line) for line in old.strip("\n").split("\n")]
    if not any(wanted):
        return []
    read = [reading(line) for line in lines]
    found: list[Span] = []
    index = 0
    while index + len(wanted) <= len(read):
        if read[index] == wanted[0] and read[index : index + len(wanted)] == wanted:
            found.append(_span(lines, starts, index, index + len(wanted), old))
            index += len(wanted)
        else:
            index += 1
    return found


def _span(lines: list[str], starts: list[int], first: int, after: int, old: str) -> Span:
    end = starts[after] if old.endswith("\n") else starts[after - 1] + len(lines[after - 1])
    return starts[first], end


def _anchored(content: str, old: str) -> list[Span]:
    """A block whose first and last lines stand, and whose middle is nearly the same and not much longer."""
    wanted = [line.strip() for line in old.strip("\n").split("\n")]
    if not 3 <= len(wanted) <= MOST_ANCHORED or not wanted[0] or not wanted[-1]:
        return []
    lines, starts = _lines(content)
    read = [line.strip() for line in lines]
    firsts = [index for index, line in enumerate(read) if line == wanted[0]]
    lasts = [index for index, line in enumerate(read) if line == wanted[-1]]
    least, most = max(3, math.ceil(len(wanted) / MOST_LINES)), int(len(wanted) * MOST_LINES)
    blocks = ((first, last) for first in firsts for last in lasts if least <= last - first + 1 <= most)
    found: list[Span] = []
    for first, last in islice(blocks, MOST_COMPARED):
        middle = "\n".join(read[first + 1 : last])
        if difflib.SequenceMatcher(None, middle, "\n".join(wanted[1:-1]), autojunk=False).ratio() >= ALIKE:
            found.append(_span(lines, starts, first, last + 1, old))
    return found


def _fitted(there: str, old: str, new: str) -> str:
    """The new text with the indentation of what stands there, where the model's was off by a constant."""
    theirs, given = _indent(there), _indent(old)
    if theirs == given or not new.strip():
        return new
    fitted: list[str] = []
    for line in new.split("\n"):
        if not line.strip():
            fitted.append(line)
        elif line.startswith(given):
            fitted.append(theirs + line[len(given) :])
        else:
            return new
    return "\n".join(fitted)


def _indent(text: str) -> str:
    for line in text.split("\n"):
        if line.strip():
            return line[: len(line) - len(line.lstrip())]
    return ""
