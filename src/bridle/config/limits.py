"""Validation of limits, with the name of the invalid limit in the error."""

from __future__ import annotations

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


def check_tree(whose: str, tree: TreeLimits) -> None:
    """Raise `ConfigError` if a limit on a tree of subagents is invalid."""
    check_limits(f"{whose}, tree", tree)
    for key in TREE_BOUNDS:
        problem = wrong_bound(key, getattr(tree, key))
        if problem is not None:
            raise ConfigError(f"{whose}: tree {key} {problem}")
