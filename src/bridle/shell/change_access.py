"""`LineChanges`: finds permissions for protected files that a line's programs change, also by unpacking or linking."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bridle.core.permission import EDIT_PROTECTED, Access
from bridle.core.protected import protection
from bridle.errors import ToolFailed
from bridle.shell.archive_contents import names_in
from bridle.shell.findings import Folders, Script, Simple
from bridle.shell.program_names import program
from bridle.shell.programs import unwrapped
from bridle.shell.words import Word, names
from bridle.shell.write_targets import changed_by, follows_links, is_writer, links_made_by, named_by, unpacks
from bridle.workspace.files import located

MOST_NAMED = 2_000
PLAIN = {
    "tar": re.compile(r"-?[xvzjJpk]*f?|-C|--strip-components=\d+"),
    "unzip": re.compile(r"-[oqn]+|-d"),
    "patch": re.compile(r"-p\d|-[iNRsft]+|--(forward|reverse|silent)"),
    "git": re.compile(r"--(index|cached|3way|reverse|verbose|reject|recount|whitespace=\w+)|-p\d|-[3Rv]"),
}
"""Options with which a program writes only to the names listed in its archive or patch."""
MAKES_NO_FILE = names("cd mkdir")


@dataclass(frozen=True, slots=True)
class LineChanges:
    """Checks the arguments of programs that write. Unknown cases ask for permission for the whole line."""

    command: str
    project: Path
    folder: Path

    def of(self, script: Script) -> Iterator[Access]:
        made = [self._links_made_by(simple) for simple in script.commands]
        written = [(opened.target, opened.folders) for opened in script.opened if opened.writes]
        for index, simple in enumerate(script.commands):
            named = self._named_by(simple)
            for access in (access for word in named for access in self._guarded(word, simple.folders)):
                # An unknown program might only read its arguments, so it is asked about instead of denied.
                yield access if access.permission != "protected" or is_writer(simple.words) else self._unknown()
            others = [*made[:index], *made[index + 1 :]]
            touched = [*changed_by(simple.words), *(named if follows_links(simple.words) else [])]
            if any(self._is_behind(word, simple.folders, others) for word in touched):
                yield self._unknown()
            written += [(word, simple.folders) for word in touched]
            if unpacks(simple.words):
                yield from self._unpacked(simple, script)
        if self._runs_one_of(written, script):
            yield self._unknown()
        for opened in script.opened if len(script.commands) > 1 else ():
            if opened.writes and self._is_behind(opened.target, opened.folders, made):
                yield self._unknown()

    def _runs_one_of(self, written: list[tuple[Word, Folders]], script: Script) -> bool:
        """Return whether the line runs a path that another of its commands writes or makes executable."""
        programs = [(unwrapped(simple.words)[:1], simple.folders) for simple in script.commands]
        named = [(words[0], folders) for words, folders in programs if words and "/" in words[0].text]
        run = [path for word, folders in named for path in self._paths(word.text, folders)]
        made = {path for word, folders in written for path in self._paths(word.text, folders)} - {str(self.folder)}
        return any(path == each or path.startswith(f"{each}/") for path in run for each in made)

    def _unknown(self) -> Access:
        return Access("bash", self.command, "any")

    def _named_by(self, simple: Simple) -> list[Word]:
        return list(islice(named_by(simple.words, lambda text: self._is_folder(text, simple.folders)), MOST_NAMED))

    def _is_folder(self, text: str, folders: Folders) -> bool:
        if text.endswith("/") or posixpath.basename(text) in (".", ".."):
            return True
        return any(os.path.isdir(path) for path in self._paths(text, folders))

    def _paths(self, text: str, folders: Folders) -> list[str]:
        """Return the paths that a word may mean, as written: links are not followed."""
        start = str(self.folder)
        return [posixpath.normpath(posixpath.join(start, folder, text)) for folder in folders or ()]

    def _guarded(self, word: Word, folders: Folders) -> Iterator[Access]:
        """Yield the permissions that a redirection to this path would need because it is protected."""
        if folders is None and not word.text.startswith("/"):
            if protection(word.text.split("/")):
                yield self._unknown()
            return
        for path in self._paths(posixpath.expanduser(word.text), folders or frozenset({""})):
            with suppress(ToolFailed):
                place = located(self.project, path)
                kind = protection(place.inner.parts) if place.inside else ""
                if kind:
                    yield Access("protected" if kind == "deny" else EDIT_PROTECTED, place.shown)

    def _links_made_by(self, simple: Simple) -> list[str] | None:
        links = links_made_by(simple.words, lambda text: self._is_folder(text, simple.folders))
        if links is None or (links and simple.folders is None):
            return None
        return [path for word in links for path in self._paths(word.text, simple.folders)]

    def _is_behind(self, word: Word, folders: Folders, links: list[list[str] | None]) -> bool:
        """Return whether a path cannot be judged because another command of the line may put a link in its way."""
        paths = self._paths(word.text, folders)
        if word.known and all(path.startswith("/dev/") for path in paths) and paths:
            return False
        if None in links:
            inside = [path for path in paths if Path(path).is_relative_to(self.project)]
            return not word.known or not paths or bool(inside)
        made = [link for each in links for link in each or ()]
        if not word.known or not paths:
            return bool(made)
        return any(path == link or path.startswith(f"{link}/") for path in paths for link in made)

    def _unpacked(self, simple: Simple, script: Script) -> Iterator[Access]:
        """Yield the permissions for the names in the patch or archive that a program unpacks."""
        files = self._files(simple, script)
        found = [names_in(Path(path)) for path in files]
        if not files or None in found:
            yield self._unknown()
            return
        for name in (name for each in found for name in each or ()):
            plain = name.removeprefix("a/").removeprefix("b/") if program(simple.words[0].text) == "git" else name
            if name.startswith("/") or ".." in name.split("/"):
                yield self._unknown()
            elif protection(name.split("/")):
                yield from self._guarded(Word(plain), simple.folders or frozenset({""}))

    def _files(self, simple: Simple, script: Script) -> list[str]:
        """Return the files that are unpacked; none if the files, or how they are unpacked, are unknown."""
        name, rest = program(simple.words[0].text) if simple.words[0].known else "", simple.words[1:]
        plain = PLAIN.get(name)
        others = [each for each in script.commands if each is not simple and each.words[0].text not in MAKES_NO_FILE]
        if plain is None or others or script.doubts or any(opened.writes for opened in script.opened):
            return []
        options = [
            word for index, word in enumerate(rest) if word.text.startswith("-") or (name == "tar" and not index)
        ]
        if not all(word.known for word in rest) or not all(plain.fullmatch(word.text) for word in options):
            return []
        if name == "tar" and not any(word.text.endswith("f") for word in options):
            return []
        words = [*(word for word in rest if word not in options), *(opened.target for opened in script.opened)]
        paths = [path for word in words for path in self._paths(word.text, simple.folders)]
        return [path for path in paths if os.path.isfile(path)]
