"""How much of each limit is used, as every surface shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bridle.core.ledger import Account, TreeLimits
from bridle.core.limits import ROWS, Limit, Limits, Spent, spent_by
from bridle.core.session import OpenTurn

NEAR = 0.8


class Level(NamedTuple):
    """One limit: how much of it is used, in words and as a share."""

    limit: Limit
    words: str
    share: float | None


def levels(turn: OpenTurn, elapsed: float) -> Iterator[Level]:
    """What is used of every limit, and of what has none."""
    return _levels(spent_by(turn, elapsed), turn.limits)


def _levels(spent: Spent, limits: Limits) -> Iterator[Level]:
    for row in ROWS:
        used, allowed = spent.of(row.name), limits.of(row.name)
        if used or allowed or row.unit != "dollars":
            yield Level(row, level_words(row, used, allowed), used / allowed if allowed else None)


def level_words(row: Limit, used: float, allowed: float | None) -> str:
    """ "3/25", "1.2k/50k", "$0.012/$0.50", "12/60 s"; without a limit, what is used alone."""
    if row.unit == "dollars":
        return f"${used:.3f}" + (f"/${allowed:.2f}" if allowed else "")
    show = short if row.thousands else row.exact
    return show(used) + (f"/{show(allowed)}" if allowed else "") + (" s" if row.unit == "seconds" else "")


def used_words(spent: Spent) -> Iterator[str]:
    """ "2 steps", "1 call", "1,204 tokens", "$0.0012", "3.4 s"; no cost is not told."""
    for row in ROWS:
        value = spent.of(row.name)
        if row.whole:
            yield f"{value:,} {row.label if value != 1 else row.label.removesuffix('s')}"
        elif value or row.unit == "seconds":
            yield f"{value:.1f} s" if row.unit == "seconds" else row.exact(value)


def nearest(turn: OpenTurn, elapsed: float) -> Level | None:
    """The limit of which most is used."""
    bounded = [level for level in levels(turn, elapsed) if level.share is not None]
    return max(bounded, key=lambda level: level.share or 0.0, default=None)


def tree_words(account: Account) -> Iterator[str]:
    """What all turns under a root have used together, and of how much."""
    tree = account.tree or TreeLimits()
    yield f"tree {account.live}/{tree.live} at work, {account.total}/{tree.total} subagents"
    for level in _levels(account.spent, tree):
        if level.limit.shared:
            yield f"{level.words} {level.limit.label}" if level.limit.whole else level.words


def bar(share: float | None, width: int) -> str:
    """A share as a bar."""
    filled = min(width, round((share or 0.0) * width))
    return "▰" * filled + "▱" * (width - filled)


def short(number: float) -> str:
    """ "950", "1.2k", "3.4M"."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.0f}"
