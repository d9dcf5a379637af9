"""Raises `ConfigError` for invalid limits of a turn, a budget or a tree; those in settings are checked in `check`."""

from __future__ import annotations

from bridle.core.budget import BUDGETED, Budget
from bridle.core.ledger import TreeLimits
from bridle.core.limits import LIMIT_NAMES, TREE_BOUNDS, Limits, wrong_bound, wrong_limit
from bridle.errors import ConfigError


def check_limits(whose: str, limits: Limits) -> None:
    """Raise `ConfigError` if a limit is invalid."""
    for name in LIMIT_NAMES:
        value = limits.of(name)
        problem = None if value is None else wrong_limit(name, value)
        if problem is not None:
            raise ConfigError(f"{whose}: {name} {problem}")


def check_budget(whose: str, budget: Budget) -> None:
    """Raise `ConfigError` if a limit of a budget is invalid, or cannot be one of a day or a month."""
    for period, limits in (("daily", budget.daily), ("monthly", budget.monthly)):
        check_limits(f"{whose}: {period}", limits)
        for name in LIMIT_NAMES:
            if limits.of(name) is not None and name not in BUDGETED:
                raise ConfigError(f"{whose}: {period}: {name} cannot be limited (known: {', '.join(BUDGETED)})")


def check_tree(whose: str, tree: TreeLimits) -> None:
    """Raise `ConfigError` if a limit on a tree of subagents is invalid."""
    check_limits(f"{whose}, tree", tree)
    for key in TREE_BOUNDS:
        problem = wrong_bound(key, getattr(tree, key))
        if problem is not None:
            raise ConfigError(f"{whose}: tree {key} {problem}")
