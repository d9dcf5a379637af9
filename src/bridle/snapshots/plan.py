"""Plans an undo or redo: the target state of each path, and the conflicts; `restore` writes, `runtime.undo` refuses."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bridle.snapshots.pins import SnapshotPins, covering
from bridle.snapshots.repository import Held, Repository, Taken, is_kept, seen_at

MOST_BELOW = 10_000


class Span(NamedTuple):
    """The trees before and after some tool calls, their times, and preexisting files in no snapshot (`left`)."""

    before: str
    after: str
    left: frozenset[str] = frozenset()
    opened: float = 0.0
    closed: float = 0.0


@dataclass(slots=True)
class CombinedChanges:
    """The combined effect of spans: the state of each path before the first and after the last of them."""

    first: dict[str, Held] = field(default_factory=dict)
    last: dict[str, Held] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    """Paths that existed before but are in no snapshot; they are not removed."""
    between: set[str] = field(default_factory=set)
    """Paths that others changed between two spans."""


@dataclass(frozen=True, slots=True)
class Planned:
    """Target state of each path, and the names of these paths for display.

    Others have changed `strange` paths; no snapshot has the content of `lost` ones; `left` ones stay.
    """

    now: str
    wanted: Mapping[str, Held]
    names: tuple[str, ...]
    strange: tuple[str, ...]
    lost: tuple[str, ...]
    left: tuple[str, ...]


def joined(spans: Iterable[Span]) -> list[Span]:
    """Merge spans where one begins with the tree in which the previous one ended."""
    found: list[Span] = []
    for span in spans:
        if found and found[-1].after == span.before:
            last = found.pop()
            span = Span(last.before, span.after, last.left | span.left, last.opened, max(last.closed, span.closed))
        found.append(span)
    return found


def changes(repository: Repository, pins: SnapshotPins, spans: Sequence[Span], *more: str) -> CombinedChanges:
    """Return the combined changes of these spans; raises `SnapshotFailed` if a tree of theirs or of `more` is gone."""
    pins.need(*more, *(tree for span in spans for tree in span[:2]))
    found = CombinedChanges()
    seen: dict[str, set[Held]] = {}
    for span in joined(spans):
        for move in repository.moves(span.before, span.after):
            if not move.before.blob and covering(span.left, move.path):
                found.left.add(move.path)
                continue
            states = seen.setdefault(move.path, {move.before})
            if move.before not in states:
                found.between.add(move.path)
            states |= {move.before, move.after}
            found.first.setdefault(move.path, move.before)
            found.last[move.path] = move.after
    return found


def plan_undo(repository: Repository, pins: SnapshotPins, spans: Sequence[Span], own: Collection[str]) -> Planned:
    """Return the plan that takes the files from now to their state before the first of these changes."""
    found = changes(repository, pins, spans)
    found.between |= _claimed(repository, pins, spans, own)
    return _plan(repository, found)


def plan_redo(repository: Repository, pins: SnapshotPins, spans: Sequence[Span], tree: str) -> Planned:
    """Return the plan that reverses an undo of these changes; `tree` is the state before that undo."""
    found = changes(repository, pins, spans, tree)
    return _plan(repository, CombinedChanges(repository.held(tree, list(found.first)), found.first))


def _plan(repository: Repository, found: CombinedChanges) -> Planned:
    """Return the plan that takes the files from now, when they should be in their last state, to their first one."""
    now = repository.take()
    there = repository.held(now.tree, list(found.first))
    wanted = {path: held for path, held in found.first.items() if there[path] != held}
    strange = {path for path in wanted if path in found.between or there[path] != found.last[path]}
    lost = _lost(repository.git.tree, wanted, there, now)
    shown = (
        tuple(map(repository.shown, paths)) for paths in (wanted, sorted(strange), sorted(lost), sorted(found.left))
    )
    return Planned(now.tree, wanted, *shown)


def _claimed(repository: Repository, pins: SnapshotPins, spans: Sequence[Span], own: Collection[str]) -> set[str]:
    """Return paths that another session changed at the same time, so that the author is unknown."""
    found: set[str] = set()
    mine = {(span.before, span.after) for span in spans}
    for claim in pins.claims(own):
        beside = any(claim.opened <= span.closed and claim.closed >= int(span.opened) for span in spans)
        if beside and (claim.before, claim.after) not in mine:
            found |= {move.path for move in repository.moves(claim.before, claim.after)}
    return found


def _lost(root: Path, wanted: Mapping[str, Held], there: Mapping[str, Held], now: Taken) -> set[str]:
    """Return paths whose current content is in no snapshot and would be lost."""
    found: set[str] = set()
    for path, held in wanted.items():
        above = _no_folder_above(root, path)
        if above is not None:
            found |= {path} if above not in wanted else set()
            continue
        seen = seen_at(root / path)
        if seen is None:
            continue
        if stat.S_ISDIR(seen.st_mode):
            found |= {path} if held.blob and not _only_wanted_below(root, path, wanted) else set()
        elif not there[path].blob or path in now.large or not is_kept(root / path, seen):
            found.add(path)
    return found


def _no_folder_above(root: Path, path: str) -> str | None:
    """Return the topmost parent that exists and is no folder; None if there is none."""
    for above in reversed(PurePosixPath(path).parents[:-1]):
        seen = seen_at(root / above)
        if seen is None:
            return None
        if not stat.S_ISDIR(seen.st_mode):
            return str(above)
    return None


def _only_wanted_below(root: Path, path: str, wanted: Mapping[str, Held]) -> bool:
    """Return whether the plan removes everything in a folder."""
    waiting = [root / path]
    count = 0
    while waiting:
        for entry in os.scandir(waiting.pop()):
            count += 1
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
                continue
            held = wanted.get(os.path.relpath(entry.path, root))
            if held is None or held.blob or count > MOST_BELOW:
                return False
    return True
