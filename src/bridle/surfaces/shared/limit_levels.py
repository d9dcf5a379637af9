"""How much of each limit is used, as every surface shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bridle.core.ledger import Account, TreeLimits
from bridle.core.limits import LimitName
from bridle.core.session import OpenTurn

NEAR = 0.8
NAMES: dict[LimitName, str] = {
    "steps": "steps",
    "tool_calls": "calls",
    "tokens": "tokens",
    "cost": "cost",
    "seconds": "time",
}


class Level(NamedTuple):
    """One limit: how much of it is used, in words and as a share."""

    name: LimitName
    words: str
    share: float | None


def levels(turn: OpenTurn, elapsed: float) -> Iterator[Level]:
    """What is used of every limit, and of what has none."""
    limits = turn.limits
    yield Level("steps", f"{turn.steps}/{turn.cap}", turn.steps / turn.cap if turn.cap else None)
    calls = limits.tool_calls
    yield Level("tool_calls", f"{turn.tool_calls}" + (f"/{calls}" if calls else ""), _share(turn.tool_calls, calls))
    most = limits.tokens
    yield Level("tokens", _short(turn.tokens) + (f"/{_short(most)}" if most else ""), _share(turn.tokens, most))
    if turn.cost or limits.cost:
        bound = f"/${limits.cost:.2f}" if limits.cost else ""
        yield Level("cost", f"${turn.cost:.3f}{bound}", _share(turn.cost, limits.cost))
    seconds = limits.seconds
    yield Level("seconds", f"{elapsed:.0f}" + (f"/{seconds:.0f}" if seconds else "") + " s", _share(elapsed, seconds))


def nearest(turn: OpenTurn, elapsed: float) -> Level | None:
    """The limit of which most is used."""
    bounded = [level for level in levels(turn, elapsed) if level.share is not None]
    return max(bounded, key=lambda level: level.share or 0.0, default=None)


def tree_words(account: Account) -> Iterator[str]:
    """What all turns under a root have used together, and of how much."""
    tree = account.tree or TreeLimits()
    yield f"tree {account.live}/{tree.live} at work, {account.total}/{tree.total} subagents"
    bound = f"/{_short(tree.tokens)}" if tree.tokens else ""
    yield f"{_short(account.spent.tokens)}{bound} tokens"
    if account.spent.cost or tree.cost:
        yield f"${account.spent.cost:.3f}" + (f"/${tree.cost:.2f}" if tree.cost else "")


def bar(share: float | None, width: int) -> str:
    """A share as a bar."""
    filled = min(width, round((share or 0.0) * width))
    return "▰" * filled + "▱" * (width - filled)


def _share(used: float, most: float | None) -> float | None:
    return used / most if most else None


def _short(number: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return str(number)
