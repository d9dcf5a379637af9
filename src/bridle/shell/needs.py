"""The permissions that a command line needs: one for each program, each file that is written, each way out."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from bridle.core.permission import Access
from bridle.errors import ToolFailed
from bridle.shell.found import Folders, Opened, Script, Simple
from bridle.shell.hides import writes_git_config
from bridle.shell.programs import WRAPPERS, command_of_find, runs_of, shell_text, without_exec
from bridle.shell.script import taken_apart
from bridle.shell.words import Word, names
from bridle.workspace.files import Place, accesses, located

NO_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/zero", "/dev/urandom"})
PUBLIC = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/tmp")
"""What every program reads anyway, and a scratch folder."""
CHANGES = names(
    "rm rmdir mv cp ln touch mkdir chmod chown chgrp install dd tee truncate rsync shred unlink mkfifo mknod patch"
)
MOST_WORDS = 2_000


def needs_of(command: str, project: Path, folder: Path) -> tuple[Access, ...]:
    """Everything that a command line must be allowed; what cannot be known is asked for as such."""
    script = taken_apart(command)
    found: dict[Access, None] = {}
    if script.doubts:
        found[Access("bash", command, "any")] = None
    for access in _all(script, command, project, folder, 0):
        found[access] = None
    return tuple(found)


def _all(script: Script, command: str, project: Path, folder: Path, depth: int) -> Iterator[Access]:
    if script.strays:
        yield Access("external_directory", "a folder that is not known", "any")
    for simple in script.commands:
        if simple.words and simple.words[0].known and simple.words[0].text in script.functions:
            # What it does was looked at where it is defined.
            continue
        yield from _programs(simple, command, project, folder, depth)
        yield from _paths(simple, project, folder)
        for target in _written_by(simple):
            yield from _opened(Opened(target, True, simple.folders), project, folder)
    for opened in script.opened:
        yield from _opened(opened, project, folder)


def _written_by(simple: Simple) -> Iterator[Word]:
    """Files that a program is told to change by its words."""
    name = posixpath.basename(simple.words[0].text) if simple.words else ""
    named = [word for before, word in pairwise(simple.words) if before not in (Word("-e"), Word("-f"), Word("-ne"))]
    plain = [word for word in named if not word.text.startswith("-")]
    options = [word.text for word in simple.words[1:] if word.text.startswith("-")]
    if name == "tee":
        yield from plain
    elif name in ("sed", "gsed") and any(re.match(r"-[nErsuz]*i|--in-place", option) for option in options):
        scripted = any(re.fullmatch(r"-[nErsuz]*e|--expression.*", option) for option in options)
        yield from plain if scripted else plain[1:]


def _programs(simple: Simple, command: str, project: Path, folder: Path, depth: int) -> Iterator[Access]:
    words = list(simple.words)
    inner = command_of_find(words) if words and words[0].known and posixpath.basename(words[0].text) == "find" else None
    if inner is not None:
        words = without_exec(words)
        for given in inner:
            yield from _programs(Simple(tuple(given), (), simple.folders), command, project, folder, depth)
            yield from _paths(Simple(tuple(given), (), simple.folders), project, folder)
    text = _text_for_a_shell(words)
    if text is not None:
        if depth > 3:
            yield Access("bash", command, "any")
            return
        below = taken_apart(text, simple.folders)
        if below.doubts:
            yield Access("bash", command, "any")
        yield from _all(below, command, project, folder, depth + 1)
    if writes_git_config(words):
        yield Access("git_config", " ".join(word.text for word in words))
    for run in runs_of(words, simple.assigned):
        pattern = command if run.reach == "any" else run.text
        yield Access("bash", pattern, run.reach, _remembered(run.text) if run.reach in ("exact", "runs") else "")


def _text_for_a_shell(words: list[Word]) -> str | None:
    """The text of a `bash -c`, also behind wrappers."""
    for index in range(min(len(words), 8)):
        text = shell_text(words[index:]) if words[index].known else None
        if text is not None:
            return text
    return None


TWO_WORDS = names(
    "git npm pnpm yarn cargo go docker kubectl pip uv poetry make bun deno gh python python3 node systemctl apt"
)


def _remembered(text: str) -> str:
    """What an always lets pass: the program, with its subcommand where it has many."""
    words = text.split(" ")
    count = 2 if words[0] in TWO_WORDS and len(words) > 1 and not words[1].startswith("-") else 1
    return " ".join([*words[:count], "*"])


def _paths(simple: Simple, project: Path, folder: Path) -> Iterator[Access]:
    """Places outside of the project that a command names."""
    first = posixpath.basename(simple.words[0].text) if simple.words else ""
    changes = first in CHANGES or (first in WRAPPERS and any(word.text in CHANGES for word in simple.words[1:6]))
    for index, word in enumerate(simple.words[:MOST_WORDS]):
        if not index and "/" not in word.text:
            continue
        text = re.sub(r"^(--?[\w-]+=|-[A-Za-z](?=[/~.])|\w+=)", "", word.text)
        if text in NO_FILES or text.startswith("/dev/fd/"):
            continue
        leads_out = _may_lead_out(text) if word.known else text.startswith("/") or _may_lead_out(text)
        if not leads_out and simple.folders == frozenset({""}):
            continue
        if not word.known and not text.startswith(("/", "~", "..")):
            continue
        for place in _places(text, simple.folders, project, folder):
            if place is None or not (place.inside or (_public(place) and not changes)):
                where = str(place.path) if place is not None else "an unknown folder"
                yield Access("external_directory", where, "exact" if place is not None and word.known else "open")
    if len(simple.words) > MOST_WORDS:
        yield Access("external_directory", "too many words to look at", "any")


def _may_lead_out(text: str) -> bool:
    if text.startswith("/"):
        # What begins like a path may be a pattern, as for sed.
        return os.path.lexists("/" + text.lstrip("/").partition("/")[0])
    return text.startswith("~") or ".." in text.split("/")


def _public(place: Place) -> bool:
    path = str(place.path)
    return path in NO_FILES or path.startswith("/dev/fd/") or any(place.path.is_relative_to(top) for top in PUBLIC)


def _places(text: str, folders: Folders, project: Path, folder: Path) -> Iterator[Place | None]:
    """Every place that a path may mean, from all folders in which its command may run."""
    if folders is None and not text.startswith(("/", "~")):
        if _may_lead_out(text):
            yield None
        return
    for start in folders or {""}:
        if text.startswith("~") and not text.startswith("~/") and text != "~":
            yield None
            continue
        try:
            yield located(project, str(folder / start / Path(text).expanduser()))
        except ToolFailed:
            yield None


def _opened(opened: Opened, project: Path, folder: Path) -> Iterator[Access]:
    text = opened.target.text
    permission = "edit" if opened.writes else "read"
    if text.startswith(("/dev/tcp/", "/dev/udp/")):
        yield Access("network", text.split("/")[3])
        return
    if opened.target.known and (text in NO_FILES or text.startswith("/dev/fd/")):
        return
    if not opened.target.known or not text or (opened.folders is None and not text.startswith("/")):
        yield Access(permission, "a file that is not known", "any")
        return
    for place in _places(text, opened.folders, project, folder):
        if place is None:
            yield Access(permission, "a file that is not known", "any")
        elif opened.writes or not _public(place):
            yield from accesses(permission, place)
