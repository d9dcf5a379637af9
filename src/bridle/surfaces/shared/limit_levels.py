"""Formats limits the same way for every surface: usage as text and bars, and the reason why a turn ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bridle.core.ledger import Account, TreeLimits
from bridle.core.limits import LIMIT_OF_REASON, ROWS, Limit, Limits, Reason, Spent
from bridle.core.session import OpenTurn

NEAR = 0.8
OTHER_REASONS: dict[Reason, str] = {
    "tree_budget": "tree budget exhausted",
    "doom_loop": "doom loop",
    "context_full": "context window full",
    "empty": "no answer from the model",
}
"""Endings whose name is not a word for people, besides limits."""


class Level(NamedTuple):
    """Usage of one limit, as text and as a share."""

    limit: Limit
    words: str
    share: float | None


def levels(turn: OpenTurn, elapsed: float) -> Iterator[Level]:
    """Yield the usage of every limit of a turn, including usage without a limit."""
    return _levels(turn.spent(elapsed), turn.limits)


def _levels(spent: Spent, limits: Limits) -> Iterator[Level]:
    for row in ROWS:
        used, allowed = spent.of(row.name), limits.of(row.name)
        if used or allowed or row.unit != "dollars":
            yield Level(row, level_words(row, used, allowed), used / allowed if allowed else None)


def level_words(row: Limit, used: float, allowed: float | None) -> str:
    """Return usage and limit: "3/25", "1.2k/50k", "$0.012/$0.50", "12/60 s"; without a limit, only the usage."""
    if row.unit == "dollars":
        return f"${used:.3f}" + (f"/${allowed:.2f}" if allowed else "")
    show = short if row.thousands else row.exact
    return show(used) + (f"/{show(allowed)}" if allowed else "") + (" s" if row.unit == "seconds" else "")


def used_words(spent: Spent) -> Iterator[str]:
    """Yield the usage as text: "2 steps", "1 call", "1,204 tokens", "$0.0012", "3.4 s"; a cost of 0 is left out."""
    for row in ROWS:
        value = spent.of(row.name)
        if row.whole:
            yield f"{value:,} {row.label if value != 1 else row.label.removesuffix('s')}"
        elif value or row.unit == "seconds":
            yield f"{value:.1f} s" if row.unit == "seconds" else row.exact(value)


def reason_words(reason: Reason) -> str:
    """Return why a turn ended, in words for people: "answered", "step limit reached"."""
    row = LIMIT_OF_REASON.get(reason)
    return row.headline if row is not None else OTHER_REASONS.get(reason, reason)


def nearest(turn: OpenTurn, elapsed: float) -> Level | None:
    """Return the limit with the highest share used; None if no limit is set."""
    bounded = [level for level in levels(turn, elapsed) if level.share is not None]
    return max(bounded, key=lambda level: level.share or 0.0, default=None)


def tree_words(account: Account) -> Iterator[str]:
    """Yield the usage of a whole tree of turns against the tree's limits."""
    tree = account.tree or TreeLimits()
    yield f"tree {account.live}/{tree.live} at work, {account.total}/{tree.total} subagents"
    for level in _levels(account.spent, tree):
        if level.limit.shared:
            yield f"{level.words} {level.limit.label}" if level.limit.whole else level.words


def bar(share: float | None, width: int) -> str:
    """Draw a share as a bar of characters."""
    filled = min(width, round((share or 0.0) * width))
    return "▰" * filled + "▱" * (width - filled)


def short(number: float) -> str:
    """Shorten a number: "950", "1.2k", "3.4M"."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.0f}"
