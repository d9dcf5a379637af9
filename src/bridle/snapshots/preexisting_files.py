"""Files that a turn did not make though no snapshot has them: they could not be seen before, or lay elsewhere."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from bridle.snapshots.file_age import born_ns
from bridle.snapshots.pins import Facts, quoted, unquoted
from bridle.snapshots.repository import Move, Repository, seen_at

EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
LOW = 0xFFFF_FFFF
"""Git keeps so much of the numbers of a device and an inode."""


@dataclass(slots=True)
class Standing:
    """Paths, and where those were before that were moved: the folder or file now, and what was ignored then."""

    paths: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)


def standing(repository: Repository, facts: Facts, index: Path, moves: Sequence[Move], since_ns: int) -> Standing:
    """Which of the paths that look new hold a file that is older than the snapshot, and was not kept in it.

    A file that was made since is the turn's own. One that is older was either kept at another path, which an undo
    brings back, or is found in no snapshot, so that an undo would lose it.
    """
    result = Standing()
    old = _older(repository.git.tree, moves, since_ns)
    if not old:
        return result
    # An empty file says nothing of where it comes from.
    back = {move.before.blob for move in moves if move.before.blob} - {EMPTY}
    kept = repository.inodes(index)
    for move, found in old:
        path = repository.git.tree / move.path
        # Numbers are used again: a file that is younger than what is known of its number is another one.
        was_kept = born_ns(path, found) <= kept.get((found.st_dev & LOW, found.st_ino & LOW), -1)
        if was_kept or move.after.blob in back:
            continue
        result.paths.append(move.path)
        place, former = _former(repository.git.tree, facts, move.path)
        if place:
            result.moved[place] = former
    return result


def _older(tree: Path, moves: Sequence[Move], since_ns: int) -> list[tuple[Move, os.stat_result]]:
    fresh = [move for move in moves if not move.before.blob]
    seen = [(move, found) for move in fresh if (found := seen_at(tree / move.path)) is not None]
    names = Counter((found.st_dev, found.st_ino) for _, found in seen)
    return [
        (move, found)
        for move, found in seen
        if born_ns(tree / move.path, found) < since_ns
        and not _linked(found, names[found.st_dev, found.st_ino], since_ns)
    ]


def _linked(found: os.stat_result, names: int, since_ns: int) -> bool:
    """Whether this is one more name, given since, of a file that keeps another one; installers link from caches."""
    return found.st_nlink > names and found.st_ctime_ns >= since_ns


def _former(tree: Path, facts: Facts, path: str) -> tuple[str, str]:
    """The path or a folder above it that was moved, and its name before; both empty if that is not known."""
    for place in (PurePosixPath(path), *PurePosixPath(path).parents[:-1]):
        found = seen_at(tree / place)
        name = facts.numbers.get(found.st_ino) if found is not None else None
        if name is not None:
            return str(place), unquoted(name)
    return "", ""


def left_of(facts: Facts | None, fresh: Sequence[str], found: Standing) -> tuple[str, ...]:
    """What an undo does not remove, quoted: what was known to be there, or everything if nothing is known."""
    if facts is None:
        return tuple(sorted(map(quoted, fresh)))
    return tuple(sorted(({facts.covering(path) for path in fresh} - {""}) | set(map(quoted, found.paths))))
