"""One seed against every invariant."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Sequence

from support.cut_process import Cutter
from support.oracle import told
from support.virtual import Deadlock

from sim.guard import Touched
from sim.invariants import INVARIANTS, Tree
from sim.plan import Plan, make_plan
from sim.world import History, Left, lived, lived_on


def check_seed(seed: int) -> tuple[str, Counter[str]]:
    """What is wrong with this world, and what came to pass in it."""
    return check_plan(make_plan(seed))


def check_plan(plan: Plan, cutters: Sequence[Cutter] | None = None) -> tuple[str, Counter[str]]:
    return _checked(plan, lambda: lived(plan, [Cutter(at) for at in plan.cuts] if cutters is None else cutters))


def check_left(left: Left) -> tuple[str, Counter[str]]:
    """The same for what comes after a death."""
    return _checked(left.plan, lambda: lived_on(left))


def _checked(plan: Plan, live: Callable[[], History]) -> tuple[str, Counter[str]]:
    try:
        history = live()
    except Deadlock as error:
        return f"terminates: {error!r}", plan.seen
    except Touched as error:
        return f"nothing_real: {error}", plan.seen
    except Exception as error:
        return f"the world itself failed: {error!r}\n{''.join(traceback.format_exception(error)[-3:])}", plan.seen
    try:
        tree = Tree(history)
    except Exception as error:
        # However the fold fails: a journal that makes no session is what must be told, not that the check fell over.
        return f"can_be_loaded: {error!r}", plan.seen
    for invariant in INVARIANTS:
        try:
            invariant(tree)
        except Exception as error:
            return f"{invariant.__name__}: {error!r}", plan.seen
    plan.seen.update(f"ended: {result.reason}" for result in history.results)
    plan.seen.update("reported from the background" for id in tree.sessions for _ in told(tree.timed(id)))
    return "", +plan.seen
