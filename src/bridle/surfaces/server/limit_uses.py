"""`limit_uses`: the limits of a turn and of its tree, with what is used of each, for clients to draw."""

from __future__ import annotations

from collections.abc import Iterator

from bridle.core.ledger import Account, TreeLimits
from bridle.core.limits import ROWS, Limits, Scope, Spent
from bridle.core.session import OpenTurn
from bridle.surfaces.shared.limit_levels import level_words
from bridle.wire.native_history import LimitUse


def limit_uses(turn: OpenTurn, elapsed: float, tree: Account | None) -> tuple[LimitUse, ...]:
    """Return the limits of a turn, and those of its tree that are set."""
    own = _uses(turn.spent(elapsed), turn.limits, "turn")
    if tree is None:
        return tuple(own)
    return (*own, *(use for use in _uses(tree.spent, tree.tree or TreeLimits(), "tree") if use.allowed is not None))


def nearest_use(turn: OpenTurn, elapsed: float) -> LimitUse | None:
    """Return the limit of which the largest share is used; None if no limit is set."""
    bounded = [use for use in _uses(turn.spent(elapsed), turn.limits, "turn") if use.allowed]
    return max(bounded, key=lambda use: use.used / (use.allowed or 1.0), default=None)


def _uses(spent: Spent, limits: Limits, scope: Scope) -> Iterator[LimitUse]:
    for row in ROWS:
        if scope not in row.scopes:
            continue
        used, allowed = spent.of(row.name), limits.of(row.name)
        yield LimitUse(
            name=row.name,
            scope=scope,
            label=row.label,
            words=level_words(row, used, allowed),
            used=used,
            allowed=allowed,
            extension=max(row.extension, (allowed or 0) // 2),
        )
