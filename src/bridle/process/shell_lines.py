"""Splits configured shell lines into words, for `project_programs`; package `shell` analyzes a model's lines."""

from __future__ import annotations

import re

DEEPEST = 5
SHELLS = re.compile(r"(ba|da|a|z|k|mk|fi)?sh|busybox|eval|trap|su|ssh|watch|flock|script|parallel")
"""Programs that run some of their arguments as shell lines."""
BEFORE = re.compile(
    r"env|sudo|doas|exec|command|builtin|nice|ionice|nohup|setsid|time|timeout|stdbuf|xargs|chronic|unbuffer|caffeinate|"
    r"find|entr|if|then|elif|else|while|until|do|!|\{|.*=.*",
    re.DOTALL,
)
"""Words after which a program follows, perhaps after options."""
_SEPARATED = r"(?P<end>[;&|()\n]+)|(?P<gap>[\s<>]+)"
_FOLDERS = r"(?P<folder>\$(?:(?:HOME|PWD)(?!\w)|\{(?:HOME|PWD)\}))|(?P<unknown>\$[\w{(@*#?$!'\"-]|`)"
_BARE = re.compile(
    rf"(?P<raw>'[^']*')|(?P<escaped>\\.)|(?P<quote>\")|{_FOLDERS}|(?P<unpaired>')|(?P<tilde>~[\w.+-]*)|(?P<comment>#[^\n]*)|"
    rf"(?P<test>\[\[?(?=\s))|(?P<pattern>[*?\[]|\{{[^\s{{}}]*(?:,|\.\.)[^\s{{}}]*\}})|{_SEPARATED}|(?P<plain>.)",
    re.DOTALL,
)
_QUOTED = re.compile(rf"(?P<quote>\")|(?P<escaped>\\[$`\"\\\n])|{_FOLDERS}|(?P<plain>.)", re.DOTALL)


class Unknown(Exception):
    """The programs that a line would run cannot be determined."""


class _Reader:
    """Splits one line into a list of words for each of its simple commands."""

    def __init__(self, line: str, home: str) -> None:
        self.commands: list[list[str]] = [[]]
        self._home = home
        self._word: str | None = None
        self._quoted = False
        place = 0
        while found := (_QUOTED if self._quoted else _BARE).match(line, place):
            place = found.end()
            self._take(found.lastgroup or "", found[0])
        if self._quoted:
            raise Unknown("its quotes do not match")
        self._end_word()

    def _take(self, kind: str, text: str) -> None:
        if kind == "tilde" and self._word and not self._word.endswith(("=", ":")):
            # Within a word, a tilde stands for itself.
            kind = "plain"
        if kind in ("unknown", "pattern") or (kind == "tilde" and text != "~"):
            raise Unknown(f"{text!r} in it is expanded only when it runs")
        if kind == "unpaired":
            raise Unknown("its quotes do not match")
        if kind in ("gap", "end"):
            self._end_word()
            self.commands += [[]] if kind == "end" else []
        elif kind != "comment" or self._word is not None:
            self._quoted ^= kind == "quote"
            # An earlier `cd` may have changed the folder: the caller tries every one.
            folder = self._home if kind == "tilde" or "HOME" in text else "."
            meant = {"quote": "", "raw": text[1:-1], "escaped": text[1:].strip("\n"), "folder": folder, "tilde": folder}
            self._word = (self._word or "") + meant.get(kind, text)

    def _end_word(self) -> None:
        if self._word is not None:
            self.commands[-1].append(self._word)
        self._word = None


def commands_of(line: str, home: str, depth: int = 0) -> list[list[str]]:
    """Return the words of every simple command of a line, also of lines within it; raises `Unknown`."""
    if depth > DEEPEST:
        raise Unknown("its shell lines are nested too deeply")
    found: list[list[str]] = []
    for words in _Reader(line, home).commands:
        if words:
            found += [words, *inner_commands(words, home, depth)]
    return found


def inner_commands(words: list[str], home: str, depth: int = 0) -> list[list[str]]:
    """Return the commands of the lines that a command gives to a shell; raises `Unknown`."""
    if not any(SHELLS.fullmatch(name.rpartition("/")[2]) for name in programs_in(words)):
        return []
    lines = [word for word in words if not re.fullmatch(r"[\w./:=@%+,-]*", word)]
    return [each for line in lines for each in commands_of(line, home, depth + 1)]


def programs_in(words: list[str]) -> list[str]:
    """Return the words of a simple command that may be programs: the first, or all if it can start another."""
    return words if BEFORE.fullmatch(words[0].rpartition("/")[2]) else words[:1]
