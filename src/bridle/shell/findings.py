"""`Script`: the analysis of a command line, with its commands, the files it opens, and doubts (possible gaps)."""

from __future__ import annotations

from dataclasses import dataclass, field

from bridle.shell.evaluation import Numbers
from bridle.shell.variables import Assigned
from bridle.shell.words import Word

MOST_FOLDERS = 8

Folders = frozenset[str] | None
"""Folders in which a command may run, absolute or relative to where the line starts; None means any folder."""


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple command without its redirections."""

    words: tuple[Word, ...]
    assigned: tuple[Assigned, ...]
    folders: Folders
    written: str = ""
    """The source text of the command."""


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file that a redirection opens."""

    target: Word
    writes: bool
    folders: Folders


@dataclass(slots=True, kw_only=True)
class Script:
    """The findings in the order of the line. `doubts` say why something may have been missed."""

    commands: list[Simple] = field(default_factory=list)
    opened: list[OpenedFile] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    numbers: Numbers = field(default_factory=Numbers)
    exported: list[Assigned] = field(default_factory=list)
    """Variables that reach every program of the line, whether they are set before or after it."""
    functions: set[str] = field(default_factory=set)
    strays: bool = False
    """Whether the line changes to an unknown folder."""


def either(one: Folders, other: Folders) -> Folders:
    """Return the folders of both; None if one is None or there are too many."""
    if one is None or other is None or len(one | other) > MOST_FOLDERS:
        return None
    return one | other
