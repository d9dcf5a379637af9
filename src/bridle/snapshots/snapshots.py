"""Snapshots for all projects of a user: each in a folder of its own, made off the event loop, within bounds."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from bridle.errors import SnapshotFailed
from bridle.seams import Seams, in_thread
from bridle.snapshots.git import Git
from bridle.snapshots.repository import DAY, Bounds, Held, Known, Repository, Taken
from bridle.snapshots.restore import Plan, Span, joined, planned, restore
from bridle.turn.kept_files import Compared

MOST_FILES = 200
"""Files that a patch names; the others it counts."""
MOST_LARGE = 20
TIDY_SECONDS = 5.0

Result = TypeVar("Result")


def work_tree(project: Path) -> Path:
    """The folder whose ignore rules hold for a project: the top of its git work tree, or the project itself."""
    return next((folder for folder in (project, *project.parents) if (folder / ".git").exists()), project)


@dataclass(slots=True)
class Snapshots:
    """See `KeepsFiles`."""

    home: Path
    environment: Mapping[str, str]
    bounds: Bounds = Bounds()
    seams: Seams = field(default_factory=Seams)
    _known: dict[Path, Known] = field(default_factory=dict)
    _tidying: dict[Path, asyncio.Future[None]] = field(default_factory=dict)
    _large: dict[Path, Mapping[str, tuple[int, int]]] = field(default_factory=dict)

    def _repository(self, directory: Path) -> Repository:
        project = directory.resolve()
        tree = work_tree(project)
        if tree in (Path("/"), Path(self.environment.get("HOME") or "/").resolve()) and project == tree:
            raise SnapshotFailed(f"{tree} is too much to keep; work in a folder of its own")
        folder = self.home / hashlib.blake2b(os.fsencode(tree), digest_size=12).hexdigest()
        git = Git(folder, tree, self.environment.get("PATH", os.defpath))
        return Repository(git, project, self.environment, self.bounds, self._known.setdefault(tree, Known()))

    async def _do(self, directory: Path, job: Callable[[Repository], Result]) -> Result:
        repository = self._repository(directory)
        try:
            return await in_thread(lambda: job(repository))
        except asyncio.CancelledError:
            repository.git.stop()
            raise
        except OSError as error:
            raise SnapshotFailed(str(error)) from error

    async def take(self, directory: Path, session: str) -> str:
        def job(repository: Repository) -> Taken:
            taken = repository.take()
            repository.hold(session, taken.tree)
            return taken

        taken = await self._do(directory, job)
        self._large[directory] = taken.large
        return taken.tree

    async def compare(self, directory: Path, session: str, name: str, before: str) -> Compared:
        known = self._large.get(directory)
        at = self.seams.clock.wall()

        def job(repository: Repository) -> tuple[Taken, Compared]:
            taken = repository.take()
            moves = repository.moves(before, taken.tree)
            if moves:
                repository.pin(session, name, at, (before, taken.tree))
            grown = [path for path, facts in taken.large.items() if known is not None and known.get(path) != facts]
            large = tuple(repository.shown(path) for path in grown[:MOST_LARGE])
            files = tuple(repository.changed(move) for move in moves[:MOST_FILES])
            return taken, Compared(taken.tree, files, max(0, len(moves) - MOST_FILES), large)

        taken, compared = await self._do(directory, job)
        self._large[directory] = taken.large
        if directory not in self._tidying:
            self._tidying[directory] = tidying = asyncio.ensure_future(self._do(directory, self._tidy))
            # Nobody waits for it, and nothing depends on it: what fails is tried again another day.
            tidying.add_done_callback(lambda task: task.cancelled() or task.exception())
        return compared

    async def close(self) -> None:
        """End what goes on beside the turns, after a moment. May be called twice."""
        if self._tidying:
            await asyncio.wait(self._tidying.values(), timeout=TIDY_SECONDS)
        for tidying in self._tidying.values():
            tidying.cancel()

    async def plan(self, directory: Path, spans: Sequence[Span]) -> tuple[str, Plan, tuple[str, ...]]:
        """The files as they are now, how to undo these changes, and the names of what that changes."""

        def job(repository: Repository) -> tuple[str, Plan, tuple[str, ...]]:
            repository.need(*(tree for span in spans for tree in span))
            now = repository.take().tree
            plan = planned(repository, spans, now)
            return now, plan, tuple(map(repository.shown, plan.wanted))

        return await self._do(directory, job)

    async def bring_back(self, directory: Path, wanted: Mapping[str, Held]) -> None:
        """Make these paths what they should be."""
        await self._do(directory, lambda repository: restore(repository, wanted))

    async def at(self, directory: Path, tree: str, spans: Sequence[Span]) -> dict[str, Held]:
        """What a tree has at every path that these changes touched."""

        def job(repository: Repository) -> dict[str, Held]:
            repository.need(tree, *(one for span in spans for one in span))
            touched = {move.path: None for span in joined(spans) for move in repository.moves(*span)}
            return repository.held(tree, list(touched))

        return await self._do(directory, job)

    async def drop(self, directory: Path, session: str) -> None:
        """Let go of what was kept for a session; without git there is nothing of it."""
        with suppress(SnapshotFailed):
            await self._do(directory, lambda repository: repository.drop(session))

    def _tidy(self, repository: Repository) -> None:
        """Once a day, see to it that what is kept does not grow for ever."""
        now = self.seams.clock.wall()
        stamp = repository.git.folder / "pruned"
        if stamp.exists() and now - stamp.stat().st_mtime > DAY:
            repository.prune(now)
        elif stamp.exists():
            return
        stamp.touch(mode=0o600)

    async def pin(self, directory: Path, session: str, name: str, tree: str) -> None:
        """Keep a tree as long as its session."""
        at = self.seams.clock.wall()
        await self._do(directory, lambda repository: repository.pin(session, name, at, (tree,)))

    async def diff(self, directory: Path, spans: Sequence[Span]) -> str:
        """What these changes have come to, as people read it."""

        def job(repository: Repository) -> str:
            first, last = spans[0][0], spans[-1][1]
            repository.need(*(tree for span in spans for tree in span))
            touched = {move.path: None for span in joined(spans) for move in repository.moves(*span)}
            return repository.diff(first, last, list(touched)) if touched else ""

        return await self._do(directory, job)
