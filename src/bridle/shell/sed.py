"""Whether a script of sed only looks and replaces: it may also run commands and write files."""

from __future__ import annotations

import re

PLAIN = "pdqD=nNgGhHxlb"
ADDRESS = re.compile(r"\d+(~\d+)?|\$|[+~]\d+|0")


def only_edits(script: str) -> bool:
    """Whether every command in a script is one of the harmless; read letter by letter, in one pass."""
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
    """Where the command that begins here ends; None if it is not known to be harmless."""
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
    """Where the part that ends with a mark is over; inside of brackets and behind a backslash it does not end."""
    while index < len(script):
        letter = script[index]
        if letter in ("\\", "["):
            # What stands in brackets may hold the mark; that is rare, and left to be asked about.
            if letter == "[" and mark in script[index : index + 40].partition("]")[0]:
                return None
            index += 2 if letter == "\\" else 1
            continue
        if letter == mark:
            return index + 1
        if letter == "\n":
            return None
        index += 1
    return None


def _replaced(script: str, index: int) -> int | None:
    mark = script[index + 1 : index + 2]
    if not mark or mark in "\\\n " or mark.isalnum():
        return None
    middle = _closed(script, index + 2, mark)
    end = None if middle is None else _closed(script, middle, mark)
    if end is None:
        return None
    flags = re.compile(r"[gpiIM\d]*").match(script, end) if script[index] == "s" else None
    after = _skipped(script, flags.end() if flags else end, " \t")
    return after if script[after : after + 1] in ("", ";", "\n", "}") else None
