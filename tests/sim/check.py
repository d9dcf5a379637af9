"""One seed against every invariant."""

from __future__ import annotations

import traceback

from harness import Deadlock

from sim.invariants import INVARIANTS, Tree
from sim.world import simulate


def check_seed(seed: int) -> tuple[str, list[str]]:
    """What is wrong with this world, and how its prompts ended."""
    try:
        history = simulate(seed)
    except Deadlock as error:
        return f"terminates: {error!r}", []
    except Exception as error:
        return f"the world itself failed: {error!r}\n{''.join(traceback.format_exception(error)[-3:])}", []
    tree = Tree(history)
    for invariant in INVARIANTS:
        try:
            invariant(tree)
        except Exception as error:
            return f"{invariant.__name__}: {error!r}", []
    return "", [result.reason for result in history.results]
