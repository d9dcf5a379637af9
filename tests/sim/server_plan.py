"""What a seed decides about a world of several workers on a PostgreSQL server."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from msgspec import structs

from bridle.core.inbox import AbortItem

if TYPE_CHECKING:
    from sim.plan import Plan

SERVED = 1_000_000_000
"""From this seed on to twice of it, worlds have their sessions on a server."""
TROUBLES = ("cut", "silent", "frozen", "restarted", "killed")
WEIGHTS = (1, 3, 1, 3, 1)
MOODS: tuple[dict[str, float], ...] = (
    {"call": 5, "batch": 2, "answer": 2},
    {"call": 8, "batch": 2, "answer": 1},
    {"spawn": 4, "call": 2, "answer": 2},
    {"crowd": 2, "spawn": 3, "call": 1, "answer": 2},
    {"spawn": 3, "fails": 1, "call": 2, "answer": 1},
)
"""What models do here: nothing that only takes long, since each second is one of four processes."""
MOST_STEPS, MOST_CHILD_STEPS, MOST_CHILDREN = 5, 3, 4


@dataclass(frozen=True)
class ServerTrouble:
    """What befalls a worker, or the server, when, and for how long."""

    kind: str
    at: float
    worker: int
    seconds: float


@dataclass(frozen=True)
class Service:
    """The workers, their server, and what befalls them."""

    workers: int
    cuts: tuple[int, ...]
    """The points at which workers die, one after the other."""
    troubles: tuple[ServerTrouble, ...]
    deaf: float
    """How many notifications get lost."""
    conflicts: float
    apart: tuple[float, ...]
    """By how many seconds the clocks of the machines are ahead of the server's."""

    @property
    def calm(self) -> bool:
        """Whether no more happens than that workers die."""
        return not self.troubles


def is_served(seed: int) -> bool:
    return SERVED <= seed < 2 * SERVED


def on_server(plan: Plan) -> Plan:
    """The same people and models, on several machines."""
    chance = random.Random(f"server {plan.seed}")
    workers = chance.choice([2, 2, 3])
    troubles = [
        ServerTrouble(kind, chance.uniform(0.2, 12.0), chance.randrange(workers), chance.choice([0.7, 2.5, 4.0, 9.0]))
        for kind in chance.choices(TROUBLES, WEIGHTS, k=chance.choice([0, 0, 1, 2, 2, 3]))
    ]
    cuts = [chance.randint(3, 80) for _ in range(chance.choice([0, 0, 1, 1, 2, 4]))]
    service = Service(
        workers=workers,
        cuts=tuple(cuts),
        troubles=tuple(sorted(troubles, key=lambda trouble: trouble.at)),
        deaf=chance.choice([0.0, 0.0, 0.3, 1.0]),
        conflicts=chance.choice([0.0, 0.0, 0.1]),
        apart=tuple(chance.choice([0.0, 0.4, -30.0, 86_400.0, -3e8]) for _ in range(workers + 1)),
    )
    wishes = list(plan.wishes)
    if chance.random() < 0.25 and not any(isinstance(item, AbortItem) for _, item in wishes):
        wishes.append((chance.uniform(0.5, 8.0), AbortItem("abt")))
    return replace(
        plan,
        wishes=sorted(wishes, key=lambda wish: wish[0]),
        disk="server",
        service=service,
        power=True,
        twin=True,
        thief=False,
        twin_cut=None,
        cuts=[],
        trouble=None,
        full_at=None,
        fail_at=None,
        peer=None,
        heals=None,
        slow=False,
        jumps=(),
        tool_seconds=chance.choice([0.0, 0.5, 5.0, 9.0]),
        moods=(chance.choice(MOODS), chance.choice(MOODS[:2])),
        steps=min(plan.steps if plan.steps is not None else MOST_STEPS, MOST_STEPS),
        child_steps=min(plan.child_steps if plan.child_steps is not None else MOST_CHILD_STEPS, MOST_CHILD_STEPS),
        tree=structs.replace(plan.tree, depth=1, total=MOST_CHILDREN),
        window=128_000,
        brimful=False,
        wires=plan.wires if chance.random() < 0.2 else (None, None),
    )
