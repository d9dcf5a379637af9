"""What a seed decides about its world: models, people, deaths, disks, wires, peers and clocks."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from bridle import Limits, Price, Reply, Rule
from bridle.config.settings import TreeSettings
from bridle.core.inbox import AbortItem, CompactItem, ExtendItem, InboxItem, PromptItem, TurnOptions
from sim.script import LENGTHY, MOODS, SPAWNING, Health, make_model
from sim.server_plan import Service, is_served, on_server

MAX_SESSIONS = 9
WIRES = ("chat", "messages", "responses")
TROUBLES = ("full", "io", "readonly", "busy", "sync")
CALLING = {"call": 8, "batch": 1, "answer": 1}
BRIMFUL = 0.15
BESIDE = "beside 6"
BESIDE_SHARE = 0.15
PEERS = ("plain", "dies", "changes", "changes", "twice", "mute", "nonsense", "floods", "unborn")


@dataclass(frozen=True)
class Trouble:
    """What the file under SQLite does, from which write on, and for how many of them."""

    kind: str
    at: int
    writes: int


@dataclass
class Plan:
    """What a seed decided."""

    seed: int
    steps: int | None
    child_steps: int | None
    limits: Limits
    tree: TreeSettings
    permission: tuple[Rule, ...]
    child_permission: tuple[Rule, ...]
    on_ask: str
    tool_seconds: float
    window: int
    price: Price | None
    moods: tuple[dict[str, float], dict[str, float]]
    wishes: list[tuple[float, InboxItem]]
    cuts: list[int]
    twin: bool
    thief: bool
    """Whether locks get lost under living processes, so that another takes over."""
    twin_cut: int | None
    full_at: int | None
    fail_at: int | None
    disk: str = "memory"
    power: bool = False
    """Whether a death is one of the machine: what has not reached the disk may be gone, or torn."""
    trouble: Trouble | None = None
    wires: tuple[str | None, str | None] = (None, None)
    """How root and subagents are spoken to; None means not through bytes at all."""
    peer: str | None = None
    """How the server of tools behaves, if there is one."""
    jumps: tuple[tuple[float, float], ...] = ()
    """When the clock on the wall is set, and by how much."""
    slow: bool = False
    """Whether the disk takes its time, so that others come meanwhile and are written and synced together."""
    brimful: bool = False
    """Whether the provider counts a full window after all but the first of a session's replies."""
    background: float = 0.0
    """How many of the subagents are started in the background."""
    small: bool = False
    service: Service | None = None
    """The workers on a PostgreSQL server, where the sessions are on one."""
    heals: float | None = None
    """Until when nothing works; from then on everything does, and every turn must end."""
    health: Health = field(default_factory=Health)
    answers: dict[str, str] = field(default_factory=dict)
    said: dict[str, list[Reply]] = field(default_factory=dict)
    """What the models have said to each request, across all lives."""
    seen: Counter[str] = field(default_factory=Counter)
    """What has come to pass; what never does in all worlds together is not tested by them."""

    @property
    def prompts(self) -> list[str]:
        return [item.id for _, item in self.wishes if isinstance(item, PromptItem)]

    def model(self, which: int) -> Callable[..., Any]:
        fills = any("fill" in mood for mood in self.moods)
        full, share = self.window if self.brimful else None, self.background
        return make_model(
            self.seed + which, self.moods[which], self.said, self.health, counts=fills, full=full, background=share
        )


def make_plan(seed: int, *, small: bool = False) -> Plan:
    """Everything that will happen, as far as the seed can say it; a small world is over after a few writes."""
    chance = random.Random(seed)
    mood, child_mood = (chance.choice(SPAWNING if chance.random() < share else MOODS) for share in (0.5, 0.25))
    fills = "fill" in mood or "fill" in child_mood
    on_ask = chance.choice(["deny", "pause", "pause", "allow"])
    prompts = [f"prm_{n}" for n in range(chance.choice([1, 1, 2, 3]))]

    def some_rules() -> tuple[Rule, ...]:
        if chance.random() < 0.6:
            return ()
        return tuple(Rule("python", name, chance.choice(["allow", "ask", "deny"])) for name in ("look", "act"))

    price = Price(2.0, 8.0) if chance.random() < 0.4 else None
    limits = Limits(
        tool_calls=chance.choice([None, None, None, 20, 20, 0, 1, 3, 7]),
        tokens=chance.choice([None, None, None, 12_000, 30_000, 90_000]),
        cost=chance.choice([None, 0.05, 0.3, 1.0]) if price is not None else None,
        seconds=chance.choice([None, None, None, 20.0, 200.0]),
    )
    tree = TreeSettings(
        steps=chance.choice([1_000, 1_000, 6, 25]),
        cost=chance.choice([None, 0.2]) if price is not None else None,
        depth=chance.choice([1, 1, 2, 3]),
        live=chance.choice([1, 2, 4]),
        total=MAX_SESSIONS - 1,
    )
    plan = Plan(
        seed=seed,
        steps=chance.choice([None, None, 8, 8, 5, 3, 2, 1, 0]),
        child_steps=chance.choice([None, 6, 4, 3, 2, 1, 0]),
        limits=limits,
        tree=tree,
        permission=some_rules(),
        child_permission=some_rules(),
        on_ask=on_ask,
        tool_seconds=chance.choice([0.0, 0.0, 0.5, 5.0]),
        window=chance.choice([6_000, 9_000]) if fills else 128_000,
        price=price,
        moods=(mood, child_mood),
        wishes=_wishes(random.Random(chance.random()), prompts, on_ask),
        cuts=_cuts(chance),
        twin=chance.random() < 0.3,
        thief=chance.random() < 0.7,
        twin_cut=chance.choice([None, chance.randint(1, 60)]),
        full_at=chance.choice([None] * 9 + [chance.randint(1, 30)]),
        fail_at=chance.choice([None] * 9 + [chance.randint(1, 30)]),
    )
    surrounded = _surrounded(plan, random.Random(f"around {seed}"))
    if fills and limits.tokens is None and price is None and random.Random(f"brimful {seed}").random() < BRIMFUL:
        # What is counted too high would be spent: where tokens or money are limited, it proves nothing.
        surrounded = replace(surrounded, brimful=True)
    aside = random.Random(f"{BESIDE} {seed}")
    if aside.random() < BESIDE_SHARE:
        # Decided apart from everything else, so that all other worlds stay as they are.
        surrounded = replace(surrounded, background=aside.choice([0.4, 0.8, 1.0]))
    if is_served(seed):
        return on_server(surrounded)
    return _small(surrounded, random.Random(f"small {seed}")) if small else surrounded


def _surrounded(plan: Plan, chance: random.Random) -> Plan:
    """The same people and models, with what lies around them."""

    def wire() -> str | None:
        return chance.choice(WIRES) if chance.random() < 0.4 else None

    lasting = chance.choice([1, 1, 2, 6])
    peer = chance.choice(PEERS) if chance.random() < 0.15 else None
    jump = chance.choice([3_600.0, -3_600.0, 86_400.0, -1e6, 3.2e8, -0.5])
    around = replace(
        plan,
        disk="sqlite" if chance.random() < 0.35 else "memory",
        power=chance.random() < 0.6,
        trouble=Trouble(chance.choice(TROUBLES), chance.randint(1, 30), lasting) if chance.random() < 0.4 else None,
        wires=(wire(), wire()),
        peer=peer,
        steps=plan.steps if peer is None else 8,
        limits=plan.limits if peer is None else Limits(),
        jumps=((chance.uniform(0, 10), jump),) if chance.random() < 0.25 else (),
        heals=chance.choice([5.0, 60.0, 400.0]) if chance.random() < 0.12 else None,
        # What is decided last moves nothing else.
        slow=chance.random() < 0.4,
    )
    if peer is not None:
        # Where there is a server, it is used.
        return replace(around, moods=(CALLING, plan.moods[1]))
    return replace(around, moods=(LENGTHY, plan.moods[1])) if chance.random() < 0.06 else around


def _small(plan: Plan, chance: random.Random) -> Plan:
    """A world in which every point is a place to die, with nothing in it that only takes time."""
    # One step to start subagents in the background, one to answer before they have, and the closing one.
    steps, child_steps = ([3], [1, 2]) if plan.background else ([1, 1, 2], [0, 1, 1])
    prompts = [wish for wish in plan.wishes if isinstance(wish[1], PromptItem)]
    others = [wish for wish in plan.wishes if not isinstance(wish[1], PromptItem)]
    return replace(
        plan,
        steps=chance.choice(steps),
        child_steps=chance.choice(child_steps),
        tree=structs.replace(plan.tree, depth=1, total=2),
        wishes=sorted([*prompts[: chance.choice([1] * 5 + [2])], *others], key=lambda wish: wish[0]),
        disk=plan.disk if chance.random() < 0.4 else "memory",
        peer=plan.peer if chance.random() < 0.3 else None,
        cuts=[],
        twin=False,
        heals=None,
        small=True,
    )


def _cuts(chance: random.Random) -> list[int]:
    """The points at which one life after the other ends; some worlds die again and again at the same one."""
    if chance.random() < 0.06:
        return [chance.randint(8, 14)] * 5
    return [chance.randint(1, 120) for _ in range(chance.choice([0, 0, 1, 1, 2, 3]))]


def _wishes(chance: random.Random, prompts: list[str], on_ask: str) -> list[tuple[float, InboxItem]]:
    """What people want and when; each thing once, whoever lives."""
    options = TurnOptions(on_ask=on_ask)
    wishes: list[tuple[float, InboxItem]] = [
        (
            0.0 if n == 0 else chance.uniform(0, 12),
            PromptItem(id, f"please {id}", queue=n > 0 and chance.random() < 0.5, options=options),
        )
        for n, id in enumerate(prompts)
    ]
    if chance.random() < 0.15:
        wishes.append((chance.uniform(0, 15), AbortItem("abt")))
    if chance.random() < 0.2:
        wishes.append((chance.uniform(0, 8), ExtendItem("ext", chance.choice(["steps", "tool_calls", "tokens"]), 3)))
    if chance.random() < 0.1:
        wishes.append((chance.uniform(0, 8), CompactItem("cmp")))
    return sorted(wishes, key=lambda wish: wish[0])
