"""Finds files that look new but existed before the turn (formerly ignored, unreadable or moved): an undo keeps them."""

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
"""Git stores only the low 32 bits of device and inode numbers."""


@dataclass(slots=True)
class Standing:
    """Preexisting paths. `moved` maps the present path of a file or folder to its former, ignored one."""

    paths: list[str] = field(default_factory=list)
    moved: dict[str, str] = field(default_factory=dict)


def standing(repository: Repository, facts: Facts, index: Path, moves: Sequence[Move], since_ns: int) -> Standing:
    """Return the paths that look new but hold a file that is older than the snapshot and not in it.

    A file created since then belongs to the turn. An older one is either in the snapshot at another path, which an
    undo restores, or in no snapshot, so that an undo would lose it.
    """
    result = Standing()
    moves = [move for move in moves if move.before.blob or not facts.covering(move.path)]
    old = _older(repository.git.tree, moves, since_ns)
    if not old:
        return result
    # Empty files all have the same content, so they match nothing.
    back = {move.before.blob for move in moves if move.before.blob} - {EMPTY}
    kept = repository.inodes(index)
    for move, found in old:
        path = repository.git.tree / move.path
        # Inode numbers are reused: a file created after the recorded change is a different one.
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
    """Return whether this is a new hard link to a file outside these paths; installers link from caches."""
    return found.st_nlink > names and found.st_ctime_ns >= since_ns


def _former(tree: Path, facts: Facts, path: str) -> tuple[str, str]:
    """Return the path or parent folder that was moved, and its former name; both empty if unknown."""
    for place in (PurePosixPath(path), *PurePosixPath(path).parents[:-1]):
        found = seen_at(tree / place)
        name = facts.numbers.get(found.st_ino) if found is not None else None
        if name is not None:
            return str(place), unquoted(name)
    return "", ""


def left_of(facts: Facts | None, fresh: Sequence[str], found: Standing) -> tuple[str, ...]:
    """Return the quoted paths that an undo keeps: those known to be preexisting, or all if nothing is known."""
    if facts is None:
        return tuple(sorted(map(quoted, fresh)))
    return tuple(sorted(({facts.covering(path) for path in fresh} - {""}) | set(map(quoted, found.paths))))
