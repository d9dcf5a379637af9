"""`contain`: prepares a command for the sandbox: its readable and writable paths, and files to restore after it.

Everything that Bridle runs on behalf of a model or a project goes through `contain`: bash, background commands,
formatters, diagnostics, hooks, MCP servers and shell commands in templates.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bridle.core.permission import DEFAULT_RULES, EDIT_PROTECTED, Access, judge
from bridle.core.protected import DEPENDENCIES, OBEYED, protection
from bridle.core.rule_patterns import wildcard
from bridle.process.lifelines import Lifelines
from bridle.process.program_lookup import outside
from bridle.process.protected_places import GIT_FILES, PlaceDifference, PlaceWatch, Survey, read_file
from bridle.process.sandbox import CLOSED, MOST_MOUNTS, Layout, Openings, Sandbox, fitted
from bridle.workspace.git_place import ISOLATED, GitPlace, git_place, named_by_config

Permits = Callable[[Access], bool]
MOST_INDEX = 64 << 20
ROOT_FILES = ("bridle.toml", ".bridle")


class Containment(Protocol):
    """The sandbox and limits for commands of a runtime that belong to no turn."""

    def sandbox(self, session: str) -> Sandbox | None:
        """Return the sandbox for commands under this name; None where commands run without one."""

    def permits(self, access: Access) -> bool:
        """Return whether the rules allow this access."""

    @property
    def lifelines(self) -> Callable[[str], Lifelines | None]:
        """Returns the signals without which the commands of a session end; "" stands for those of no session."""

    def bounds(self) -> dict[str, int]:
        """Return the resource limits of a command, by name."""


@dataclass(frozen=True, slots=True)
class Contained:
    """A command prepared to start in the sandbox."""

    words: list[str]
    """The words that start the sandbox; those of the command follow."""
    environment: dict[str, str]
    watch: PlaceWatch
    layout: Layout

    @property
    def masked(self) -> tuple[str, ...]:
        """Return the files that the command cannot open, relative to the project."""
        return tuple(str(path.relative_to(self.layout.project)) for path in self.layout.masked)


def contain(
    sandbox: Sandbox,
    project: Path,
    folder: Path,
    environment: Mapping[str, str] | None,
    *,
    opened: Openings = CLOSED,
    permits: Permits | None = None,
    lasting: bool = False,
    call: str = "",
) -> Contained:
    """Decide what a command may write, read and leave behind. Walks the project, so call it in a thread.

    `permits` tells what the call was granted; without it, the default rules apply. `lasting` is for commands that
    outlive their call: their git is read-only, and differences are reported instead of restored.
    """
    environment = dict(os.environ if environment is None else environment)
    permits = permits or (lambda access: judge(DEFAULT_RULES, access) == "allow")
    git = shutil.which("git", path=outside(environment.get("PATH", ""), project, *sandbox.writable) or os.defpath)
    place = git_place(project)
    named = (*named_by_config(place, git, environment), *sandbox.protected)
    named = tuple(path for path in named if any(map(path.is_relative_to, (project, *place.folders))))
    allowed = tuple(str(path) for path in opened.protected)
    obeyed = (name.casefold() for name in OBEYED if not permits(Access(EDIT_PROTECTED, name)))
    watch = PlaceWatch(
        root=str(project),
        names=frozenset((*ROOT_FILES, *obeyed)),
        dependencies=frozenset(DEPENDENCIES),
        git=tuple(map(str, place.folders)),
        more=tuple(map(str, named)),
        allowed=allowed,
        restore=not lasting,
        kept=f"{sandbox.stored}/{call}.protected" if sandbox.stored and call else "",
        ask_git=_ask_git(sandbox, place, git) if git is not None and (place.folders or place.locked) else (),
        environment={**ISOLATED, "PATH": os.defpath},
    )
    masks = "|".join(f"(?:{wildcard(mask)})" for mask in sandbox.masks)
    survey = Survey(watch, re.compile(masks, re.DOTALL) if masks else None)
    named += tuple(path for path in _obeyed_below(survey, git) if path.is_relative_to(project) and path != project)
    absent = (path for path in sandbox.hidden if path.is_relative_to(project) and not os.path.exists(path))
    watch.more = tuple(str(path) for path in (*named, *absent, *_behind_links(survey)))
    watch.allowed = (*allowed, *(path for path in survey.found if _may_write(path, project, permits)))
    masked = [path for path in survey.masked if path not in allowed and not os.path.islink(path)]
    masked = [path for path in masked if not permits(Access("read", os.path.relpath(path, project)))]
    denied = _denied(place, named, project, allowed)
    layout = _layout(survey, place, denied, [*map(Path, masked), *map(Path, survey.closed)], folder, lasting=lasting)
    return Contained(sandbox.around((), layout, opened), sandbox.environment(environment, opened), watch, layout)


def _layout(
    survey: Survey, place: GitPlace, denied: list[Path], masked: list[Path], folder: Path, *, lasting: bool
) -> Layout:
    """Return the paths to mount: denied and masked ones first, then as many others as fit."""
    project = Path(survey.watch.root)
    locked = fitted([*denied, *place.locked, *(place.folders if lasting else ())], MOST_MOUNTS, project)
    masked = fitted(masked, max(MOST_MOUNTS - len(locked), 1), project)
    standing = _standing(survey, place, project, every=lasting)
    standing = [path for path in standing if str(path) not in survey.watch.allowed]
    room = max(MOST_MOUNTS - len(locked) - len(masked), 0)
    return Layout(project, folder, place.folders, (*locked, *standing[:room]), tuple(masked))


def _obeyed_below(survey: Survey, git: str | None) -> Iterable[Path]:
    """Yield the paths that the repositories in a project run or obey besides their own files."""
    for folder in map(Path, survey.repositories):
        top = folder.parent if folder.name == ".git" else folder
        yield from named_by_config(GitPlace(top, (folder,)), git)
    for path, entry in survey.found.items():
        if entry.kind == "file" and path.endswith("/.git"):
            yield from named_by_config(git_place(Path(path).parent), git)


def _behind_links(survey: Survey) -> Iterable[Path]:
    """Yield the targets of protected links that lie inside the project."""
    project = Path(survey.watch.root)
    links = (Path(path) for path, entry in survey.found.items() if entry.kind == "link" and not path.endswith("/.git"))
    for target in (link.resolve() for link in links):
        if target.is_relative_to(project) and target != project and str(target) not in survey.found:
            yield target


def _may_write(path: str, project: Path, permits: Permits) -> bool:
    inside = path.startswith(f"{project}/") and ".git" not in path.split("/")
    return inside and permits(Access(EDIT_PROTECTED, path[len(str(project)) + 1 :]))


def _ask_git(sandbox: Sandbox, place: GitPlace, git: str) -> tuple[str, ...]:
    """Return a git command with its own git folder that uses the project's ignore rules, copied as data."""
    own = sandbox.scratch / "git"
    for name in ("objects", "refs", "info"):
        (own / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    (own / "HEAD").write_text("ref: refs/heads/none\n")
    rules = [read_file(str(folder / "info" / "exclude"), 1 << 20) or b"" for folder in place.folders]
    (own / "info" / "exclude").write_bytes(b"\n".join(rules))
    words = [git, f"--git-dir={own}", f"--work-tree={place.top}", "-c", "core.fsmonitor=false"]
    return (*words, "-c", "core.excludesFile=/dev/null", "check-ignore", "-z", "--stdin")


def _denied(place: GitPlace, named: Iterable[Path], project: Path, allowed: Sequence[str]) -> list[Path]:
    """Return the existing paths that no command may write: git's own settings and hooks, and Bridle's files."""
    # Not those of submodules, whose configuration git rewrites with every update, nor those of work trees, which git
    # removes with them: both are compared afterwards.
    own = [folder / name for folder in place.folders for name in GIT_FILES]
    found = (path for path in (*(project / name for name in ROOT_FILES), *own, *named) if str(path) not in allowed)
    return [path for path in found if os.path.exists(path) and not os.path.islink(path)]


def _standing(survey: Survey, place: GitPlace, project: Path, *, every: bool) -> list[Path]:
    """Return existing protected files that git need not replace: those at the root that it does not track."""
    solid = [Path(path) for path, entry in survey.found.items() if entry.kind != "link"]
    if every:
        return [path for path in solid if str(path.parent) not in survey.found and ".git" not in path.parts]
    tracked = read_file(str(place.folders[0] / "index"), MOST_INDEX) if place.folders else b""
    if tracked is None:
        return []
    tops = (path for path in solid if path.parent == project and path.name != ".git")
    return [path for path in tops if os.fsencode(path.name) not in tracked]


WORDS = {
    "restored": "{path} is protected and was restored{kept}{way_out}",
    "removed": "{path} is protected and was removed{kept}{way_out}",
    "set aside": "the new {path} was set aside because of {why}: git would obey it later",
    "closed": "{path} may not be looked into, so nothing in it was compared",
    "changed": "{path} is protected and has changed: look at it before you go on",
    "incomplete": "the project is too large to look for all protected files",
    "unknown": "the protected files were not compared, since the supervisor of the command was killed",
}


def told(found: Iterable[PlaceDifference], project: Path) -> str:
    """Return the message for the model about protected paths that a command has changed."""
    lines: list[str] = []
    for one in found:
        shown = os.path.relpath(one.path, project)
        asked = protection(Path(shown).parts) == "ask"
        way_out = f'; to ask a person: outside: ["{shown}"]' if asked else ""
        kept = f"; the changed version is in {one.kept}" if one.kept else ""
        lines.append(WORDS[one.did].format(path=shown, kept=kept, way_out=way_out, why=one.why))
    return "".join(f"\n[{line}]" for line in lines)
