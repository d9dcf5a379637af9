"""Finds the project files that configured commands outside the sandbox would run; a model must not write them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bridle.core.protected import DEPENDENCIES
from bridle.errors import ConfigError
from bridle.process.shell_lines import Unknown, commands_of, inner_commands, programs_in

MAKE = frozenset({"make", "gmake", "bmake"})
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
RUNNERS = re.compile(
    r"p?npm|yarn|bun|just|task|cargo|go|bundle|rake|gradlew?|mvnw?|ant|sbt|mix|lein|composer|tox|nox|pytest|uv|"
    r"poetry|pipenv|pdm|hatch|invoke|pre-commit|lefthook|ninja|docker-compose|mise|direnv|eslint|prettier|stylelint|pylint|"
    r"mypy|jest|vitest|vite|webpack|ts-node|tsx"
)
"""Programs that run files found in their working folder, without being told which."""
FETCHERS = frozenset({"npx", "pnpx", "bunx", "uvx"})
"""Programs that fetch a package and run it. npx uses the project's settings, and its copy of the package if any."""
INTERPRETER = re.compile(r"(python|pypy|node|nodejs|deno|ruby|perl|php|lua|luajit|Rscript|julia|tclsh|guile)[\d.]*")
ENTERS = frozenset({"cd", "pushd", "-C", "--chdir", "--directory", "--prefix", "--cwd"})
MOST_FOLDERS = 50
MOST_LINKS = 100
WAY_OUT = (
    "It runs outside of the sandbox, so a model must not be able to write what it runs. Name the files of the project "
    "plainly, or put the script outside of the project, or leave sandbox = false out"
)


class Outside(NamedTuple):
    """A command that runs outside the sandbox: a shell line, or the words of a program."""

    key: str
    """Its name in the settings."""
    command: str | list[str]
    folder: Path
    """The folder in which it starts."""


def named_files(
    commands: Iterable[Outside], project: Path, environment: Mapping[str, str], *, strict: bool = True
) -> tuple[Path, ...]:
    """Return the files of a project that commands name, existing or not: their content decides what runs.

    Raises `ConfigError` for a command that may run files which it does not name, if `strict`.
    """
    found: dict[Path, None] = {}
    for given in commands:
        named = _Named(project, environment.get("PATH", ""), [given.folder])
        try:
            home = environment.get("HOME", "")
            if isinstance(given.command, str):
                lines = commands_of(given.command, home)
            else:
                lines = [given.command, *inner_commands(given.command, home)] if given.command else []
            for words in lines:
                named.take(words)
        except Unknown as why:
            if strict:
                raise ConfigError(f"{given.key}: {why}. {WAY_OUT}") from why
        found |= named.found
    return tuple(found)


@dataclass(slots=True)
class _Named:
    """Collects the files of a project that the words of one command name."""

    project: Path
    path: str
    folders: list[Path]
    """The folder where it starts and all that it may enter: its words are looked up in each."""
    found: dict[Path, None] = field(default_factory=dict)

    def take(self, words: list[str]) -> None:
        """Collect the files of one simple command; raises `Unknown`."""
        before = ""
        for word in words:
            for piece, path in self._meant(word):
                self._go(path, entered=before in ENTERS)
                if before not in ("cd", "pushd") and ("/" in piece or os.path.lexists(path)):
                    self._protect(path)
            before = word
        for index, word in enumerate(words):
            if word in programs_in(words):
                self._run(word, words[index + 1 :])

    def _run(self, program: str, words: list[str]) -> None:
        name = program.rpartition("/")[2]
        within = [folder for folder in self.folders if folder.is_relative_to(self.project)]
        places = [path for _, path in self._meant(program)]
        if "/" not in program:
            entries = self.path.split(":") if self.path else []
            places = [Path(os.path.realpath(self.project / entry)) / program for entry in entries]
        for path in places:
            self._execute(path)
        packages = [_package(word) for word in words if not word.startswith("-")] if name in FETCHERS else []
        if name in FETCHERS and not any(map(RUNNERS.fullmatch, packages)):
            for folder in within if name != "uvx" else ():
                self._protect(*_fetched(folder, packages))
        elif (RUNNERS.fullmatch(name) or packages) and within:
            raise Unknown(f"{name} runs files of the project that are not named")
        if name in MAKE:
            for folder in within:
                self._protect(*(folder / each for each in MAKEFILES), *sorted(folder.glob("*.mk")))
        if INTERPRETER.fullmatch(name):
            self._interpret(name, words, runs_within=bool(within))

    def _execute(self, path: Path) -> None:
        """Protect a program in the project, and the files that the interpreter in its first line loads."""
        if not self._protect(path) or not os.access(path, os.X_OK) or not path.is_file():
            return
        above = DEPENDENCIES.intersection(os.path.relpath(os.path.realpath(path), self.project).split("/")[:-1])
        above |= DEPENDENCIES.intersection(os.path.relpath(path, self.project).split("/")[:-1])
        if above:
            raise Unknown(f"{path} lies in {min(above)}, where programs load many files that are not named")
        with path.open("rb") as opened:
            first = opened.readline(500).decode("utf-8", errors="replace")
        words = first[2:].split() if first.startswith("#!") else []
        for index, word in enumerate(words):
            if INTERPRETER.fullmatch(word.rpartition("/")[2]):
                self._interpret(word.rpartition("/")[2], [*words[index + 1 :], str(path)], runs_within=True)

    def _interpret(self, name: str, words: list[str], *, runs_within: bool) -> None:
        """Protect a script's folder, from which it may load files; raises `Unknown` for Python without a script."""
        options: list[str] = []
        while words and words[0].startswith("-"):
            options.append(words[0])
            words = words[2 if words[0] in ("-W", "-X") else 1 :]
        python = name.startswith(("python", "pypy"))
        if python and any(re.fullmatch(r"-[A-Za-z]*[IP][A-Za-z]*", option) for option in options):
            return
        unnamed = not words or any(re.fullmatch(r"-[A-Za-z]*[cm].*", option) for option in options)
        if python and unnamed and runs_within:
            raise Unknown(f"{name} without a script imports modules from its working folder (use the option -I)")
        scripts = [path for word in words for _, path in self._meant(word) if path.is_file()]
        for path in _places(scripts[0]) if scripts else ():
            if path.parent == self.project:
                raise Unknown(f"{path.name} may import everything that lies beside it: give it a folder of its own")
            self._protect(path.parent)

    def _meant(self, word: str) -> Iterator[tuple[str, Path]]:
        """Yield the paths that a word may name, alone or after an option, each with the piece that names it."""
        pieces = {*re.split(r"[=:,@]", word), *([word[2:]] if word[:1] == "-" else [])}
        pieces |= {word} if "://" not in word else set()
        for folder in tuple(self.folders):
            yield from ((piece, folder / piece) for piece in sorted(pieces) if piece and "\0" not in piece)

    def _go(self, path: Path, *, entered: bool) -> None:
        real = Path(os.path.realpath(path))
        if (entered or real.is_dir()) and real not in self.folders:
            if len(self.folders) == MOST_FOLDERS:
                raise Unknown("it names too many folders")
            self.folders.append(real)

    def _protect(self, *paths: Path) -> bool:
        """Protect paths and the links on their way; return whether any of them lies in the project."""
        places = (place for path in paths for place in _places(path))
        inside = [each for each in places if each != self.project and each.is_relative_to(self.project)]
        self.found |= dict.fromkeys(inside)
        return bool(inside)


def _package(word: str) -> str:
    """Return the name of a package without its version."""
    return re.sub(r"(?<=.)@[^/]*$", "", word)


def _fetched(folder: Path, packages: list[str]) -> Iterator[Path]:
    """Yield the files with which npx would run a local package, or fetch one from elsewhere."""
    yield folder / ".npmrc"
    for name in packages:
        if ".." not in name:
            yield folder / "node_modules" / name
            yield folder / "node_modules" / ".bin" / name.rpartition("/")[2]


def _places(path: Path) -> list[Path]:
    """Return a path as it is written, every link on its way, and where it leads."""
    found = {Path(os.path.normpath(path)): None}
    waiting, at = list(reversed(path.parts)), Path("/")
    for _ in range(MOST_LINKS):
        if not waiting:
            break
        name = waiting.pop()
        at = at.parent if name == ".." else at / name
        try:
            target = at.readlink() if name != ".." else None
        except OSError:
            continue
        if target is not None:
            found[at] = None
            waiting += reversed(target.parts)
            at = at.parent
    found[at] = None
    return list(found)
