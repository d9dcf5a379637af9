"""Checks that a sed script only prints and edits text: sed can also run commands and write files."""

from __future__ import annotations

import re

PLAIN = "pdqD=nNgGhHxlb"
_IN_BRACKET = r"\[[:.=][a-z]*[:.=]\]|[^\]\[]"
BRACKET = re.compile(rf"\[(?:\^(?:\]|{_IN_BRACKET})|(?!\^)(?:\]|{_IN_BRACKET}))(?:{_IN_BRACKET})*\]")
PART = re.compile(rf"(?:\\.|[^\\\[]|{BRACKET.pattern})*", re.DOTALL)
TEXT = re.compile(r"[ \t]*[^\s\\}][^\\\n]*(?=\n|\Z)")
"""Text to insert, up to the end of the line. Text with a backslash does not match: it may continue."""
ADDRESS = re.compile(r"\d+(~\d+)?|\$|[+~]\d+|0")


def only_edits(script: str) -> bool:
    """Return whether every command in a script is harmless. Reads letter by letter, in one pass."""
    index = 0
    while index < len(script):
        index = _skipped(script, index, " \t\n;")
        if index >= len(script):
            return True
        after = _command(script, index)
        if after is None:
            return False
        index = after
    return True


def _skipped(script: str, index: int, letters: str) -> int:
    while index < len(script) and script[index] in letters:
        index += 1
    return index


def _command(script: str, index: int) -> int | None:
    """Return the end of the command that begins here; None if it is not known to be harmless."""
    for _ in range(2):
        after = _address(script, index)
        if after is None:
            return None
        index = _skipped(script, after, " \t")
        if not script.startswith(",", index):
            break
        index = _skipped(script, index + 1, " \t")
    index = _skipped(script, index, "! \t")
    letter = script[index : index + 1]
    if letter in ("s", "y"):
        return _replaced(script, index)
    if letter and letter in PLAIN:
        after = _skipped(script, index + 1, " \t")
        return after if script[after : after + 1] in ("", ";", "\n", "}") else None
    if letter and letter in "aic":
        text = TEXT.match(script, index + 1)
        return text.end() if text else None
    if letter in ("{", "}"):
        return index + 1
    return None


def _address(script: str, index: int) -> int | None:
    if script.startswith("/", index):
        end = _closed(script, index + 1, "/")
        return None if end is None else _skipped(script, end, "IM")
    if script.startswith("\\", index):
        return None
    found = ADDRESS.match(script, index)
    return found.end() if found else index


def _closed(script: str, index: int, mark: str) -> int | None:
    """Return the index after the mark that ends a part; None if there is none, or a bracket may contain it."""
    start = index
    while index < len(script):
        letter = script[index]
        if letter == "\n":
            return None
        if letter == mark:
            return index + 1 if _no_bracket_holds(mark, script[start:index]) else None
        index += 2 if letter == "\\" else 1
    return None


def _no_bracket_holds(mark: str, part: str) -> bool:
    """Return whether all brackets in a part are closed and none contains the mark, escaped or not.

    Versions of sed disagree about where a part with the mark in brackets ends. They agree about all others.
    """
    return PART.fullmatch(part) is not None and not any(mark in bracket[0] for bracket in BRACKET.finditer(part))


def _replaced(script: str, index: int) -> int | None:
    mark = script[index + 1 : index + 2]
    if not mark or mark in "\\\n []" or mark.isalnum():
        return None
    middle = _closed(script, index + 2, mark)
    end = None if middle is None else _closed(script, middle, mark)
    if end is None:
        return None
    flags = re.compile(r"[gpiIM\d]*").match(script, end) if script[index] == "s" else None
    after = _skipped(script, flags.end() if flags else end, " \t")
    return after if script[after : after + 1] in ("", ";", "\n", "}") else None
