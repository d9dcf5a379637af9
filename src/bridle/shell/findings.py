"""What is found in a command line: commands, files that are opened, and doubts."""

from __future__ import annotations

from dataclasses import dataclass, field

from bridle.shell.evaluation import Numbers
from bridle.shell.variables import Assigned
from bridle.shell.words import Word

MOST_FOLDERS = 8

Folders = frozenset[str] | None
"""Where a command may run, relative to where the line begins or absolute; None means anywhere."""


@dataclass(frozen=True, slots=True)
class Simple:
    """A command without its redirections."""

    words: tuple[Word, ...]
    assigned: tuple[Assigned, ...]
    folders: Folders
    written: str = ""
    """As it stands in the line."""


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file that a redirection opens."""

    target: Word
    writes: bool
    folders: Folders


@dataclass(slots=True, kw_only=True)
class Script:
    """What was found, in the order of the line; `doubts` say why something may have been missed."""

    commands: list[Simple] = field(default_factory=list)
    opened: list[OpenedFile] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    numbers: Numbers = field(default_factory=Numbers)
    exported: list[Assigned] = field(default_factory=list)
    """Variables that reach every program of the line, whether they are set before it or behind it."""
    functions: set[str] = field(default_factory=set)
    strays: bool = False
    """Whether it goes to a folder that is not known."""


def either(one: Folders, other: Folders) -> Folders:
    """All folders of both."""
    if one is None or other is None or len(one | other) > MOST_FOLDERS:
        return None
    return one | other
