"""How files get back to what they were: what each path is to become, and what stands in the way of that."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bridle.snapshots.pins import SnapshotPins, quoted
from bridle.snapshots.repository import Held, Repository, Taken, seen_at

MOST_BELOW = 10_000


class Span(NamedTuple):
    """The files before and after some calls, when that was, and what was there before though it was not kept."""

    before: str
    after: str
    left: frozenset[str] = frozenset()
    opened: float = 0.0
    closed: float = 0.0


@dataclass(slots=True)
class RestorePlan:
    """What spans of changes come to: each path before the first and after the last of them."""

    first: dict[str, Held] = field(default_factory=dict)
    last: dict[str, Held] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    """Paths that were there before, though they were not kept: they are not removed."""
    between: set[str] = field(default_factory=set)
    """Paths that somebody else has changed between two spans."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What each path is to become; `strange` ones somebody else has changed, `lost` ones nobody could bring again."""

    now: str
    wanted: Mapping[str, Held]
    strange: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def joined(spans: Iterable[Span]) -> list[Span]:
    """The same changes in fewer spans: those that follow upon each other are one."""
    found: list[Span] = []
    for span in spans:
        if found and found[-1].after == span.before:
            last = found.pop()
            span = Span(last.before, span.after, last.left | span.left, last.opened, max(last.closed, span.closed))
        found.append(span)
    return found


def changes(repository: Repository, spans: Sequence[Span]) -> RestorePlan:
    """Everything that these spans have changed."""
    found = RestorePlan()
    seen: dict[str, set[Held]] = {}
    for span in joined(spans):
        for move in repository.moves(span.before, span.after):
            if not move.before.blob and _covered(span.left, move.path):
                found.left.add(move.path)
                continue
            states = seen.setdefault(move.path, {move.before})
            if move.before not in states:
                found.between.add(move.path)
            states |= {move.before, move.after}
            found.first.setdefault(move.path, move.before)
            found.last[move.path] = move.after
    return found


def _covered(left: Collection[str], path: str) -> bool:
    name = quoted(path)
    while name:
        if name in left or f"{name}/" in left:
            return True
        name = name.rpartition("/")[0]
    return False


def plan_undo(
    repository: Repository, pins: SnapshotPins, spans: Sequence[Span], now: Taken, own: Collection[str]
) -> Plan:
    """How to get from the files as they are now to those before the first of these changes."""
    found = changes(repository, spans)
    there = repository.held(now.tree, list(found.first))
    strange = {path for path, held in there.items() if held not in (found.last[path], found.first[path])}
    strange |= found.between | _claimed(repository, pins, spans, own, found.first)
    wanted = {path: held for path, held in found.first.items() if there[path] != held}
    lost = _lost(repository.git.tree, wanted, there, now)
    return Plan(now.tree, wanted, *(tuple(sorted(paths)) for paths in (strange & set(wanted), lost, found.left)))


def plan_redo(repository: Repository, spans: Sequence[Span], tree: str, now: Taken) -> Plan:
    """How to get from what an undo of these changes has left to the files as they were before it."""
    found = changes(repository, spans)
    target, there = (repository.held(each, list(found.first)) for each in (tree, now.tree))
    strange = {path for path, held in there.items() if held not in (found.first[path], target[path])}
    wanted = {path: held for path, held in target.items() if there[path] != held}
    lost = _lost(repository.git.tree, wanted, there, now)
    return Plan(now.tree, wanted, *(tuple(sorted(paths)) for paths in (strange & set(wanted), lost)))


def _claimed(
    repository: Repository, pins: SnapshotPins, spans: Sequence[Span], own: Collection[str], paths: Collection[str]
) -> set[str]:
    """Paths that another session has changed at the same time: whose change it was is not known."""
    found: set[str] = set()
    mine = {(span.before, span.after) for span in spans}
    for claim in pins.claims(own):
        beside = any(claim.opened <= span.closed and claim.closed >= int(span.opened) for span in spans)
        if beside and (claim.before, claim.after) not in mine:
            found |= {move.path for move in repository.moves(claim.before, claim.after)}
    return found & set(paths)


def _lost(root: Path, wanted: Mapping[str, Held], there: Mapping[str, Held], now: Taken) -> set[str]:
    """Paths at which something lies on the disk that was not kept, and would be gone for good."""
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
        elif not there[path].blob or path in now.large or not _readable(root / path, seen):
            found.add(path)
    return found


def _readable(path: Path, seen: os.stat_result) -> bool:
    return stat.S_ISLNK(seen.st_mode) or (stat.S_ISREG(seen.st_mode) and os.access(path, os.R_OK))


def _no_folder_above(root: Path, path: str) -> str | None:
    """The first name on the way that is no folder; None if there is none, or nothing at all."""
    for above in reversed(PurePosixPath(path).parents[:-1]):
        seen = seen_at(root / above)
        if seen is None:
            return None
        if not stat.S_ISDIR(seen.st_mode):
            return str(above)
    return None


def _only_wanted_below(root: Path, path: str, wanted: Mapping[str, Held]) -> bool:
    """Whether everything in a folder is to be removed anyway."""
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
