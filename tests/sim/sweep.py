"""A small world lived again and again, each time cut at another point: before and after every write and effect."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from support.cut_process import Cutter

from sim.check import check_left, check_plan
from sim.plan import make_plan
from sim.world import LAST_LIVES, Scout

DEEP_POINTS = 30


@dataclass
class Swept:
    """What is wrong with a world, where its lives were cut when that showed, and what came to pass."""

    problem: str = ""
    cuts: Sequence[int] = ()
    seen: Counter[str] = field(default_factory=Counter)


def sweep(seed: int) -> Swept:
    """A seed's small world, cut everywhere, and once more in the life after one of its deaths.

    Two points between which nothing was written, sent or done leave the same behind, so one of them is enough.
    """
    scouts = [Scout() for _ in range(LAST_LIVES)]
    swept = Swept()
    swept.problem, swept.seen = check_plan(make_plan(seed, small=True), scouts)
    left = {(*[0] * life, at): kept for life, scout in enumerate(scouts) for at, kept in scout.kept.items()}
    deaths = list(left)
    swept.seen["points: before and after every write and effect"] += sum(len(scout.left) for scout in scouts)
    swept.seen["points: cut"] += len(deaths)
    if deaths:
        chance = random.Random(f"deeper {seed}")
        deaths.append((*chance.choice(deaths), chance.randint(1, DEEP_POINTS)))
    for places in deaths:
        if swept.problem:
            break
        kept = left.get(places)
        swept.problem, found = (
            check_left(kept) if kept is not None else check_plan(make_plan(seed, small=True), cutters(places))
        )
        swept.seen.update(found)
        swept.cuts = places
    return swept


def cutters(places: Sequence[int]) -> list[Cutter]:
    """One life after the other; a nought is one that nobody cuts."""
    return [Cutter(at or None) for at in places]
