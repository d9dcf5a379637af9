"""Lists the permissions that a command line needs: programs, files, outside paths, hosts; it judges none."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bridle.core.permission import Access
from bridle.core.protected import protection
from bridle.errors import ToolFailed
from bridle.shell.change_access import LineChanges
from bridle.shell.findings import Folders, OpenedFile, Script, Simple
from bridle.shell.program_names import CALM, CHANGES, QUIET, program
from bridle.shell.programs import WRAPPERS, assigned_by, commands_of_find, runs_of, shell_text
from bridle.shell.repositories import goes_to, is_foreign, looks_bare, makes_head, may_make_one, runs_git, transferred
from bridle.shell.risky_options import writes_git_config
from bridle.shell.script import taken_apart
from bridle.shell.variables import BUILTINS, Assigned
from bridle.shell.words import Word, names
from bridle.shell.write_targets import changed_by
from bridle.workspace.files import Place, accesses, beyond, located

NO_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/zero", "/dev/urandom"})
PUBLIC = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/tmp")
"""Folders that every program reads anyway, and a scratch folder."""
SEPARATES = names("awk cut sort column paste")
"""Programs that take a field separator as an option."""
PARTED = names(
    "git npm pnpm yarn cargo go docker kubectl pip uv poetry make bun deno gh systemctl apt dotnet mvn gradle"
)
"""Programs whose second word is a subcommand."""
STEERS = re.compile(
    r"-[fCcEIxXPZp](?!\w*y$)|--?(eval|exec|toolexec|vettool|overlay|modfile|config|file|makefile|manifest-path|prefix|cwd|"
    r"dir|directory|chdir|project|root|script-shell|node-options|userconfig|globalconfig|init-script|build-file|"
    r"settings-file|include-dir|environment|require|import|loader|registry|index-url|extra-index-url)|[A-Za-z_]\w*[:+?!]*="
)
"""Arguments that change what a command does, so that an `always` for its name does not cover them."""
MOST_WORDS = 2_000
MOST_SHELLS = 3


def needs_of(command: str, project: Path, folder: Path) -> tuple[Access, ...]:
    """Return the permissions that a command line needs, including one for anything unknown in it."""
    script = taken_apart(command)
    return tuple(dict.fromkeys(_Needs(command, project, folder).of(script)))


@dataclass(frozen=True, slots=True)
class _Needs:
    """Judges one line. Unknown parts ask for the whole line, so that an `always` covers nothing else."""

    command: str
    project: Path
    folder: Path

    def of(self, script: Script, depth: int = 0, inherited: Sequence[Assigned] = ()) -> Iterator[Access]:
        if script.doubts or self._leaves_repository(script):
            yield self._unknown("bash")
        if script.strays:
            yield self._unknown("external_directory")
        for found in script.commands:
            simple = replace(found, assigned=(*found.assigned, *script.exported, *inherited))
            yield from self._programs(simple, depth, script.functions)
            yield from self._paths(simple)
            for target in changed_by(simple.words):
                yield from self._opened(OpenedFile(target, True, simple.folders))
        for opened in script.opened:
            yield from self._opened(opened)
        if not depth:
            yield from LineChanges(self.command, self.project, self.folder).of(_whole(script))

    def _unknown(self, permission: str) -> Access:
        return Access(permission, self.command, "any")

    def _leaves_repository(self, script: Script) -> bool:
        """Return whether a program runs where git obeys a repository other than the project's own."""
        plants, heads = may_make_one(script), makes_head(script)
        for simple in script.commands:
            git = runs_git(simple.words)
            if simple.words[0].text in QUIET | BUILTINS and not git:
                continue
            elsewhere = list(goes_to(simple.words))
            moved = simple.folders != frozenset({""}) or bool(elsewhere)
            unknown = simple.folders is None or not all(word.known for word in elsewhere)
            if git and (heads or unknown or (moved and plants)):
                return True
            bare = any(looks_bare(self.folder / text) for text in transferred(simple.words))
            if bare or self._is_in_another(simple, elsewhere):
                return True
        return False

    def _is_in_another(self, simple: Simple, elsewhere: Sequence[Word]) -> bool:
        project = self.project.resolve()
        for start in simple.folders or {""}:
            place = self.folder / start
            for step in ("", *(word.text for word in elsewhere if word.known)):
                place = (place / step).resolve()
                if is_foreign(place, project):
                    return True
        return False

    def _programs(self, simple: Simple, depth: int, functions: Collection[str]) -> Iterator[Access]:
        words = list(simple.words)
        name = program(words[0].text) if words and words[0].known else ""
        words, inner = commands_of_find(words) if name == "find" else (words, [])
        for given in inner:
            yield from self._programs(replace(simple, words=tuple(given)), depth, functions)
            yield from self._paths(replace(simple, words=tuple(given)))
        text, before = _text_for_a_shell(words)
        if text is not None and depth < MOST_SHELLS:
            given_on = (*simple.assigned, *assigned_by(before))
            yield from self.of(taken_apart(text, simple.folders), depth + 1, given_on)
        elif text is not None:
            yield self._unknown("bash")
        if writes_git_config(words):
            known = all(word.known for word in words)
            yield Access("git_config", " ".join(word.text for word in words) if known else self._as_written(simple))
        for run in runs_of(words, simple.assigned, functions):
            if run.reach == "any":
                yield self._unknown("bash")
            elif run.reach in ("exact", "runs"):
                odd = run.reach == "runs" and any(word.text and STEERS.match(word.text) for word in words[2:])
                yield Access("bash", run.text, run.reach, "" if odd else _remembered(run.text))
            else:
                yield Access("bash", self._as_written(simple), run.reach, words=run.text)

    def _as_written(self, simple: Simple) -> str:
        """Return the text to ask about where words are unknown: the whole line if they come from elsewhere in it."""
        text = simple.written
        return self.command if not text or re.search(r"[$`]|xargs", text) else text

    def _paths(self, simple: Simple) -> Iterator[Access]:
        """Yield the permissions for paths outside the project that a command names."""
        first = program(simple.words[0].text) if simple.words else ""
        changes = first in CHANGES or (first in WRAPPERS and any(word.text in CHANGES for word in simple.words[1:6]))
        for index, word in enumerate(simple.words[:MOST_WORDS]):
            text = re.sub(r"^(--?[\w-]+=|-[A-Za-z](?=[/~.])|\w+=)", "", word.text)
            if (not index and "/" not in word.text) or text in NO_FILES or text.startswith("/dev/fd/"):
                continue
            if word.text in ("-F/", "-d/", "-t/") and first in SEPARATES:
                continue
            leads_out = _may_lead_out(text) or (not word.known and text.startswith("/"))
            if not leads_out and (simple.folders == frozenset({""}) or not word.known):
                continue
            for place in self._places(text, simple.folders):
                if place is None:
                    yield self._unknown("external_directory")
                elif not place.inside and (changes or not _public(place)):
                    yield Access("external_directory", beyond(place))
        if len(simple.words) > MOST_WORDS:
            yield self._unknown("external_directory")

    def _places(self, text: str, folders: Folders) -> Iterator[Place | None]:
        """Yield every place that a path may mean, from all folders in which its command may run; None if unknown."""
        if folders is None and not text.startswith(("/", "~")):
            if _may_lead_out(text):
                yield None
            return
        # The deepest place comes first: it is most likely meant, and it is shown to people.
        for start in sorted(folders or {""}, reverse=True):
            if text.startswith("~") and not text.startswith("~/") and text != "~":
                yield None
                continue
            try:
                yield located(self.project, str(self.folder / start / Path(text).expanduser()))
            except (ToolFailed, RuntimeError):
                yield None

    def _opened(self, opened: OpenedFile) -> Iterator[Access]:
        text = opened.target.text
        permission = "edit" if opened.writes else "read"
        if text.startswith(("/dev/tcp/", "/dev/udp/")):
            yield Access("network", text.split("/")[3])
            return
        if opened.target.known and (text in NO_FILES or text.startswith("/dev/fd/")):
            return
        if not opened.target.known or not text or (opened.folders is None and not text.startswith("/")):
            yield self._unknown(permission)
            return
        for place in self._places(text, opened.folders):
            if place is None:
                yield self._unknown(permission)
            elif opened.writes and protection(place.inner.parts) == "deny":
                yield Access("protected", place.shown)
            elif opened.writes or not _public(place):
                yield from accesses(permission, place)


def _whole(script: Script, depth: int = 0) -> Script:
    """Return the line with the commands given to shells and to find inserted in their place."""
    found = replace(script, commands=[], opened=list(script.opened))
    for simple in script.commands:
        text, _ = _text_for_a_shell(list(simple.words))
        if text is not None and depth < MOST_SHELLS:
            below = _whole(taken_apart(text, simple.folders), depth + 1)
            found.commands += below.commands
            found.opened += below.opened
            continue
        found.commands.append(simple)
        if program(simple.words[0].text) == "find":
            _, inner = commands_of_find(simple.words)
            found.commands += [replace(simple, words=tuple(words)) for words in inner]
    return found


def _text_for_a_shell(words: list[Word]) -> tuple[str | None, list[Word]]:
    """Return the text of a `bash -c`, also behind wrappers, and the words before it."""
    for index in range(min(len(words), 8)):
        text = shell_text(words[index:]) if words[index].known else None
        if text is not None:
            return text, words[:index]
    return None, []


def _remembered(text: str) -> str:
    """Return the pattern that an `always` allows besides this exact command; empty if none is obvious."""
    words = text.split(" ")
    if words[0] in CALM:
        return f"{words[0]} *"
    if words[0] in PARTED and len(words) > 1 and re.fullmatch(r"[\w:-]+", words[1]) and not words[1].startswith("-"):
        return f"{words[0]} {words[1]} *"
    return ""


def _may_lead_out(text: str) -> bool:
    if text.startswith("/"):
        # A word that begins like a path may be a pattern, as for sed.
        return os.path.lexists("/" + text.lstrip("/").partition("/")[0])
    return text.startswith("~") or ".." in text.split("/")


def _public(place: Place) -> bool:
    if place.path.is_relative_to(Path("~").expanduser()):
        return False
    return str(place.path) in NO_FILES or any(place.path.is_relative_to(top) for top in PUBLIC)
