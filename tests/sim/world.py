"""One seed makes a world: models, tools, people, faults of the disk, deaths, and a second process."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

from harness import (
    EPOCH,
    SESSION,
    CuttableJournal,
    CuttableModel,
    Cutter,
    VirtualLoop,
    WiredJournal,
    World,
    cuttable_tool,
    note_endings,
    reboot,
    virtual_seams,
)

from bridle import Limits, Price, Rule, ScriptedModel, wire
from bridle.config.settings import LimitSettings, Settings, TreeSettings
from bridle.core.agent import Agent
from bridle.core.events import Entry
from bridle.core.inbox import AbortItem, AnswerItem, CompactItem, ExtendItem, InboxItem, PromptItem, TurnOptions
from bridle.core.result import Result
from bridle.errors import JournalError, JournalFailed, JournalFull
from bridle.journal.journal import Lease
from bridle.runtime import Runtime
from sim.script import MOODS, SPAWNING, make_model

MAX_SESSIONS = 9
THIEVING_LIVES = 2
MAX_ROUNDS = 40_000
BETWEEN_LIVES = 10_000.0
"""Seconds from one life of the process to the next, and so from a pause to its answer."""
_graveyard: list[Any] = []


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
    root: Any
    child: Any
    wishes: list[tuple[float, InboxItem]]
    prompts: list[str]
    cuts: list[int]
    twin: bool
    thief: bool
    """Whether locks get lost under living processes, so that another takes over."""
    twin_cut: int | None
    full_at: int | None
    fail_at: int | None
    answers: dict[str, str] = field(default_factory=dict)


def make_plan(seed: int) -> Plan:
    """Everything that will happen, as far as the seed can say it."""
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
    return Plan(
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
        root=make_model(seed, mood, counts=fills),
        child=make_model(seed + 1, child_mood, counts=fills),
        wishes=_wishes(random.Random(chance.random()), prompts, on_ask),
        prompts=prompts,
        cuts=_cuts(chance),
        twin=chance.random() < 0.3,
        thief=chance.random() < 0.7,
        twin_cut=chance.choice([None, chance.randint(1, 60)]),
        full_at=chance.choice([None] * 9 + [chance.randint(1, 30)]),
        fail_at=chance.choice([None] * 9 + [chance.randint(1, 30)]),
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


class SimJournal(WiredJournal):
    """The disk of a world: notes who wrote and what was published, and breaks once where the plan says so."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan
        self.appends = 0
        self.stale: list[str] = []
        self.falls: list[str] = []
        self.over: list[str] = []
        self.published: list[tuple[str, int, bytes]] = []

    async def append(self, lease: Lease, entry: Entry, **rest: Any) -> None:
        # A disk takes its time, and others go on meanwhile.
        await asyncio.sleep(0)
        self.appends += 1
        if self.appends == self.plan.full_at and rest.get("weight") != "ending":
            raise JournalFull("the disk is full")
        if self.appends == self.plan.fail_at and self.plan.seed % 2:
            raise JournalFailed("the disk is gone")
        changes = [held.change for held in rest.get("before", ())] + [rest.get("change")]
        changed = any(change is not None for change in changes)
        before = dict(self._accounts) if changed else {}
        await super().append(lease, entry, **rest)
        if lease.epoch != self._sessions[lease.session].epoch:
            self.stale.append(f"{lease.session} was written under lease {lease.epoch}")
        if changed:
            self._compare(before)
        if self.appends == self.plan.fail_at:
            raise JournalFailed("the disk is gone, after it was written")

    async def acquire(self, session: str) -> Lease | None:
        await asyncio.sleep(0)
        return await super().acquire(session)

    def _compare(self, before: dict[str, Any]) -> None:
        for id, old in before.items():
            new = self._accounts[id]
            if new.spent.tokens < old.spent.tokens or new.spent.cost < old.spent.cost - 1e-12:
                self.falls.append(f"{id} spent less")
            if new.spent.steps < old.spent.steps or new.total < old.total:
                self.falls.append(f"{id} counted back")
            if new.reserved.tokens > old.reserved.tokens:
                self._fits(new)
            if new.children and new.kept.tokens == 0:
                self.over.append(f"{id} keeps nothing for its closing request")

    def _fits(self, account: Any) -> None:
        """A reservation was taken: with it, what is spent and what others keep, every limit of the account holds."""
        for limits in (account.limits, account.tree):
            for name in ("tokens", "cost"):
                allowed = None if limits is None else limits.of(name)
                taken = sum(getattr(amount, name) for amount in (account.spent, account.reserved, account.keeps))
                if allowed is not None and taken > allowed + 1e-9:
                    self.over.append(f"{account.id} reserved {taken} {name} of {allowed}")

    def note(self, session: str, entry: Entry) -> None:
        self.published.append((session, entry.sequence, wire.encode_events(entry)))


@dataclass
class Process:
    """One process of a life: a runtime, and what ends it."""

    runtime: Runtime
    cutter: Cutter
    journal: CuttableJournal


def start_process(plan: Plan, store: SimJournal, world: World, cutter: Cutter, loop: VirtualLoop, life: int) -> Process:
    journal = CuttableJournal(store, cutter)
    cheap = {"price": plan.price, "context_window": plan.window, "max_output_tokens": min(8_192, plan.window // 4)}
    models = {
        "m": CuttableModel(ScriptedModel(plan.root, ref="m", **cheap), world, cutter),
        "c": CuttableModel(ScriptedModel(plan.child, ref="c", **cheap), world, cutter),
    }
    tools = [
        cuttable_tool(world, cutter, name=name, repeatable=name != "act", seconds=plan.tool_seconds)
        for name in ("look", "act", "gather")
    ]
    agents = [
        Agent("build", model="m", steps=plan.steps, limits=plan.limits, permission=plan.permission),
        Agent("child", model="c", steps=plan.child_steps, permission=plan.child_permission),
    ]
    runtime = Runtime(
        journal=journal,
        models=models,
        settings=Settings(tree=plan.tree, limits=LimitSettings(subagent_tool_calls=6)),
        subagents=["child"],
        tools=tools,
        agents=agents,
        directory="/project",
        seams=virtual_seams(loop, seed=life, start=EPOCH + BETWEEN_LIVES * life),
    )
    runtime.bus.listen(store.note)
    return Process(runtime, cutter, journal)


async def people(plan: Plan, process: Process) -> list[Result]:
    """They prompt, extend, compact and abort at times of their own, and wait for every answer."""
    runtime = process.runtime
    await runtime.create(SESSION)
    for at, item in plan.wishes:
        await asyncio.sleep(max(0.0, at - asyncio.get_running_loop().time()))
        await runtime.journal.submit(SESSION, item)
        runtime.resume(SESSION)
    return [await _served(plan, runtime, id) for id in plan.prompts]


async def _served(plan: Plan, runtime: Runtime, prompt: str) -> Result:
    """Wait for a prompt as a person would: answering what is asked, releasing what is held."""
    while True:
        result = await runtime.wait(SESSION, prompt)
        if result.ended:
            return result
        for ask in result.asks:
            chance = random.Random(f"{plan.seed} {ask.id}")
            choice = plan.answers.setdefault(ask.id, chance.choice(["once", "always", "reject", "reject because"]))
            word, _, why = choice.partition(" ")
            where = ask.session or SESSION
            item = AnswerItem(f"ans {ask.id}", ask.id.rpartition(":")[2], word, why)
            await runtime.journal.submit(where, item)
            runtime.resume(where)
        runtime.resume(SESSION)


async def meddle(plan: Plan, store: SimJournal, twin: Process, life: int) -> None:
    """A second process that drives whatever it finds, parents and subagents alike, until it dies."""
    chance = random.Random(f"twin {plan.seed} {life}")
    while not twin.cutter.dead:
        await asyncio.sleep(chance.choice([0.0, 0.0, 0.0, 0.0, 0.05, 0.3, 1.0, 4.0]))
        if store._sessions:
            session = chance.choice(sorted(store._sessions))
            held = sorted(id for id, kept in store._sessions.items() if kept.held)
            if plan.thief and life < THIEVING_LIVES and held and chance.random() < 0.7:
                session = chance.choice(held)
                store._sessions[session].held = False
            twin.runtime.engine.wake(session)


def live(plan: Plan, store: SimJournal, world: World, at: int | None, life: int) -> list[Result] | None:
    """One life on what the journal holds: how every prompt ended, or None if it died before."""
    loop = VirtualLoop(plan.seed + life, MAX_ROUNDS)
    loop.set_exception_handler(lambda *_: None)
    asyncio.set_event_loop(loop)
    process = start_process(plan, store, world, Cutter(at), loop, life)
    task = loop.create_task(people(plan, process))
    task.add_done_callback(lambda _: loop.stop())
    twin = None
    if plan.twin:
        # Its death ends it alone: the locks that it held are free at once, as the kernel does it.
        cutter = Cutter(plan.twin_cut)
        twin = start_process(plan, store, world, cutter, loop, life)
        cutter.dies = twin.journal.lose_leases
        twin.runtime.seams.random.seed(-1 - life)
        loop.create_task(meddle(plan, store, twin, life))
    # A cut runs no finally: what is left of a life is kept, so that nothing ever closes it.
    _graveyard.append((loop, task, process, twin))
    loop.run_forever()
    asyncio.set_event_loop(None)
    cut = process.cutter.dead
    for one in (process, twin):
        if one is not None:
            one.cutter.dead = True
    if cut:
        return None
    try:
        return task.result()
    except JournalError:
        # The person reads that the turn has not ended, and starts Bridle again.
        return None


@dataclass
class History:
    """What is left when the last life has ended."""

    plan: Plan
    results: list[Result]
    store: SimJournal
    world: World
    lives: int


def simulate(seed: int) -> History:
    """Live through every cut, then to the end."""
    plan = make_plan(seed)
    store, world = SimJournal(plan), World()
    cuts: list[int | None] = [*plan.cuts, *[None] * 4]
    for life, at in enumerate(cuts):
        results = live(plan, store, world, at, life)
        if results is not None:
            return History(plan, results, store, world, life + 1)
        reboot(store)
        note_endings(store, world)
    raise AssertionError("the last life was not cut and did not end")
