"""`Snapshots`: takes, compares, plans and restores snapshots of all projects, in threads; one git folder for each."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from bridle.core.parts import Patch
from bridle.errors import SnapshotFailed
from bridle.seams import Seams, begin, in_thread
from bridle.snapshots.git import Git
from bridle.snapshots.git_process import Leash
from bridle.snapshots.pins import DAY, Facts, SnapshotPins, quoted, unquoted
from bridle.snapshots.plan import Planned, Span, changes, plan_redo, plan_undo
from bridle.snapshots.preexisting_files import Standing, left_of, standing
from bridle.snapshots.repository import Bounds, Known, Repository, Taken
from bridle.snapshots.restore import restore

MOST_FILES = 200
"""Maximum number of files that a patch names; the others are only counted."""
MOST_UNKEPT = 20
TIDY_SECONDS = 5.0

Result = TypeVar("Result")


def work_tree(project: Path) -> Path:
    """Return the folder whose ignore rules apply to a project: the top of its git work tree, or the project itself."""
    return next((folder for folder in (project, *project.parents) if (folder / ".git").exists()), project)


@dataclass(slots=True)
class Snapshots:
    """The snapshots of all projects. See `FileHistory`."""

    home: Path
    environment: Mapping[str, str]
    bounds: Bounds = Bounds()
    seams: Seams = field(default_factory=Seams)
    _trees: dict[Path, Path] = field(default_factory=dict)
    _known: dict[Path, Known] = field(default_factory=dict)
    _compared: dict[str, tuple[str, int]] = field(default_factory=dict)
    """The tree compared last and its time, per session."""
    _tidying: dict[Path, asyncio.Future[None]] = field(default_factory=dict)

    def _repository(self, directory: Path, leash: Leash) -> Repository:
        """Return the repository of a project; a project ignored by the surrounding work tree gets its own."""
        project = directory.resolve()
        if not project.is_dir():
            raise SnapshotFailed(f"{directory} no longer exists")
        tree = self._trees.get(project) or work_tree(project)
        if tree in (Path("/"), Path(self.environment.get("HOME") or "/").resolve()) and project == tree:
            raise SnapshotFailed(f"{tree} is too large for snapshots: work in a folder below it")
        folder = self.home / hashlib.blake2b(os.fsencode(tree), digest_size=12).hexdigest()
        git = Git(folder, tree, project, self.environment.get("PATH", os.defpath), leash)
        found = Repository(git, project, self.environment, self.bounds, self._known.setdefault(tree, Known()))
        if project not in self._trees:
            self._trees[project] = project if found.is_ignored() else tree
            return self._repository(directory, leash)
        return found

    async def _do(self, directory: Path, job: Callable[[Repository, SnapshotPins], Result]) -> Result:
        leash = Leash()

        def work() -> Result:
            with leash:
                repository = self._repository(directory, leash)
                return job(repository, SnapshotPins(repository.git, self.bounds))

        try:
            return await in_thread(work)
        except asyncio.CancelledError:
            leash.end("it took too long")
            raise
        except OSError as error:
            raise SnapshotFailed(str(error)) from error

    async def take(self, directory: Path, session: str) -> str:
        def job(repository: Repository, pins: SnapshotPins) -> str:
            taken = repository.take()
            pins.hold(session, Facts.of(taken, repository.ignored(), repository.git.tree))
            return taken.tree

        return await self._do(directory, job)

    async def compare(self, directory: Path, session: str, patch: Patch) -> Patch:
        closed = self.seams.clock.wall()

        def job(repository: Repository, pins: SnapshotPins) -> Patch:
            facts = pins.facts(session)
            taken = repository.take()
            moves = repository.moves(patch.before, taken.tree)
            if moves:
                pins.pin(session, patch.id, (patch.at, closed), (patch.before, taken.tree))
            found = Standing()
            if facts is not None:
                since_ns = self._since_ns(session, patch, facts)
                found = standing(repository, facts, pins.index(session), moves, since_ns)
            self._compared[session] = (taken.tree, taken.at_ns)
            left = left_of(facts, [move.path for move in moves if not move.before.blob], found)
            files = tuple(repository.changed(move) for move in moves[:MOST_FILES])
            more = max(0, len(moves) - MOST_FILES)
            unkept = _unkept(repository, facts, taken, set(found.moved.values())) if facts is not None else ()
            some = islice(found.moved.items(), MOST_UNKEPT)
            moved = {repository.shown(place): repository.shown(former) for place, former in some}
            ended = replace(patch, after=taken.tree, closed=closed, files=files, more=more)
            return replace(ended, unkept=unkept, left=left, moved=moved)

        compared = await self._do(directory, job)
        if directory not in self._tidying:
            self._tidying[directory] = tidying = begin(self._do(directory, self._tidy))
            # Nothing waits for it or depends on it; a failure is retried another day.
            tidying.add_done_callback(lambda task: task.cancelled() or task.exception())
        return compared

    def _since_ns(self, session: str, patch: Patch, facts: Facts) -> int:
        known, at_ns = self._compared.get(session, ("", 0))
        # Files that a background command created since the last comparison count as created by these calls.
        return at_ns if patch.before == known != facts.tree else facts.at_ns

    async def close(self) -> None:
        """Wait briefly for background tidying, then cancel it. Idempotent."""
        if self._tidying:
            await asyncio.wait(self._tidying.values(), timeout=TIDY_SECONDS)
        for tidying in self._tidying.values():
            tidying.cancel()

    async def plan_undo(self, directory: Path, spans: Sequence[Span], own: Collection[str]) -> Planned:
        """Return the plan to undo these changes; `own` are the sessions that made them. Raises `SnapshotFailed`."""
        return await self._do(directory, lambda repository, pins: plan_undo(repository, pins, spans, own))

    async def plan_redo(self, directory: Path, spans: Sequence[Span], tree: str) -> Planned:
        """Return the plan to redo undone changes; `tree` is the state before the undo. Raises `SnapshotFailed`."""
        return await self._do(directory, lambda repository, pins: plan_redo(repository, pins, spans, tree))

    async def bring_back(self, directory: Path, plan: Planned) -> None:
        """Apply a plan. Raises `SnapshotFailed`."""
        await self._do(directory, lambda repository, _: restore(repository, plan.wanted))

    async def drop(self, directory: Path, session: str) -> None:
        """Delete the snapshots of a session. Does nothing if they cannot be accessed, e.g. without git."""
        with suppress(SnapshotFailed):
            await self._do(directory, lambda _, pins: pins.drop(session))

    def _tidy(self, repository: Repository, pins: SnapshotPins) -> None:
        """Prune old snapshots once a day."""
        now = self.seams.clock.wall()
        stamp = repository.git.folder / "pruned"
        if stamp.exists() and now - stamp.stat().st_mtime > DAY:
            pins.prune(now)
        elif stamp.exists():
            return
        stamp.touch(mode=0o600)

    async def pin(self, directory: Path, session: str, name: str, tree: str) -> None:
        """Keep a tree from being pruned while its session exists."""
        at = self.seams.clock.wall()
        await self._do(directory, lambda _, pins: pins.pin(session, name, (at, at), (tree,)))

    async def since(
        self, directory: Path, commits: Sequence[str], objects: Path, shows: Callable[[str], bool], context: int = 3
    ) -> str:
        """Return the diff of a project's files to a commit of its own repository; of two, to where they part.

        `objects` is the folder with that repository's objects; `shows` tells whether a path may be shown. Raises
        `SnapshotFailed`.
        """

        def job(repository: Repository, pins: SnapshotPins) -> str:
            return repository.since(commits, objects, shows, context)

        return await self._do(directory, job)

    async def diff(self, directory: Path, spans: Sequence[Span]) -> str:
        """Return the combined diff of these changes as text. Raises `SnapshotFailed`."""

        def job(repository: Repository, pins: SnapshotPins) -> str:
            touched = list(changes(repository, pins, spans).first)
            return repository.diff(spans[0].before, spans[-1].after, touched) if touched else ""

        return await self._do(directory, job)


def _unkept(repository: Repository, facts: Facts, taken: Taken, moved: Collection[str]) -> tuple[str, ...]:
    """Return changed or removed paths that are in no snapshot; moved ones are reported separately."""
    now = {quoted(name): facts for name, facts in taken.large.items()}
    changed = {name for name in {*now, *facts.large} if now.get(name) != facts.large.get(name)}
    folders = [name for name in facts.others if name.endswith("/") and unquoted(name) not in moved]
    gone = {name for name in folders if not (repository.git.tree / unquoted(name)).exists()}
    return tuple(sorted(repository.shown(unquoted(name)) for name in changed | gone))[:MOST_UNKEPT]
