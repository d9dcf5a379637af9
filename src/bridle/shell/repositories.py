"""Detects git repositories besides the project's own, whose settings git would obey, and lines that may create one."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from bridle.shell.findings import Script, Simple
from bridle.shell.program_names import CHANGES, UNPACKS, program
from bridle.shell.words import Word, names

GOES_TO = re.compile(r"-C|--(directory|cwd|chdir|prefix|project|root)")
GOES_TO_GLUED = re.compile(r"(?:-C=?|--(?:directory|cwd|chdir|prefix|project|root)=)(.+)", re.DOTALL)
TRANSFERS = names("push fetch pull clone ls-remote remote submodule")
"""Git subcommands that obey the repository named in their arguments."""
WRITES_FILES = names(
    "checkout switch restore reset merge pull rebase stash apply am cherry-pick revert clone init submodule "
    "worktree mv rm"
)
"""Git subcommands that may write any file."""
MAKE_ONE = names("HEAD commondir .git")


def is_foreign(folder: Path, project: Path) -> bool:
    """Return whether git, started in a folder of the project, would find a repository other than the project's own."""
    for place in (folder, *folder.parents):
        if not place.is_relative_to(project):
            return False
        if os.path.lexists(place / ".git"):
            return place != project
        if looks_bare(place):
            return True
    return False


def looks_bare(folder: Path) -> bool:
    """Return whether git takes the folder itself for a repository."""
    there = {name for name in ("HEAD", "objects", "refs", "commondir") if os.path.lexists(folder / name)}
    return {"HEAD", "commondir"} <= there or {"HEAD", "objects", "refs"} <= there


def runs_git(words: Sequence[Word]) -> bool:
    return any(word.known and program(word.text) == "git" for word in words[:40])


def goes_to(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the folders that options name, in order."""
    for index, word in enumerate(words):
        glued = GOES_TO_GLUED.fullmatch(word.text)
        if glued is not None:
            yield Word(glued[1], word.known, word.single)
        elif GOES_TO.fullmatch(word.text) and index + 1 < len(words):
            yield words[index + 1]


def transferred(words: Sequence[Word]) -> Iterator[str]:
    """Yield the arguments that git may take for the path of a repository."""
    if runs_git(words) and any(word.text in TRANSFERS for word in words):
        yield from (word.text.removeprefix("file://") for word in words if word.known and not word.text.startswith("-"))


def may_make_one(script: Script) -> bool:
    """Return whether a line may turn a folder into a repository before using it."""
    return makes_head(script) or any(_writes(simple) for simple in script.commands)


def makes_head(script: Script) -> bool:
    """Return whether a line writes a file by which git recognizes a repository."""
    return any(opened.writes and posixpath.basename(opened.target.text) in MAKE_ONE for opened in script.opened)


def _writes(simple: Simple) -> bool:
    words = simple.words
    if any(word.known and program(word.text) in CHANGES | UNPACKS for word in words[:4]):
        return True
    return runs_git(words) and any(word.text in WRITES_FILES for word in words)
