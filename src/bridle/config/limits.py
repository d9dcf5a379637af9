"""Limits that make no sense are refused by name, wherever they were given."""

from __future__ import annotations

from bridle.core.ledger import TREE_BOUNDS, TreeLimits
from bridle.core.limits import LIMIT_NAMES, Limits, wrong_limit
from bridle.errors import ConfigError


def check_limits(whose: str, limits: Limits) -> None:
    """Raise `ConfigError` if a limit makes no sense."""
    for name in LIMIT_NAMES:
        value = limits.of(name)
        problem = None if value is None else wrong_limit(name, value)
        if problem is not None:
            raise ConfigError(f"{whose}: {name} {problem}")


def check_tree(whose: str, tree: TreeLimits) -> None:
    """Raise `ConfigError` if a bound on a tree makes no sense."""
    check_limits(f"{whose}, tree", tree)
    for key, (least, most) in TREE_BOUNDS.items():
        value = getattr(tree, key)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(f"{whose}: tree {key} must be a whole number from {least} to {most}, not {value!r}")
