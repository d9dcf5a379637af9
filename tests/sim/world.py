"""One seed makes a world: models, tools, people, faults of the disk, deaths, and a second process."""

from __future__ import annotations

import asyncio
import gc
import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from support.cut_process import CuttableJournal, CuttableModel, Cutter, World, cuttable_tool, note_ended
from support.virtual import EPOCH, SESSION, InlineOffload, LoopClock, VirtualLoop

from bridle import Rule, ScriptedModel
from bridle.config.settings import LimitSettings, Settings
from bridle.core.agent import AgentDefinition
from bridle.core.inbox import AnswerItem
from bridle.core.ledger import Account
from bridle.core.result import Result
from bridle.errors import JournalError, TurnLeft
from bridle.runtime import Runtime, RuntimeConfig
from bridle.runtime.runtime import MakesEngine
from bridle.seams import Seams
from bridle.tools.tool import StructTool
from sim.disks import Disk, Kept, MemoryDisk, Watched
from sim.guard import nothing_real
from sim.plan import Plan, make_plan
from sim.script import PEER_TOOL
from sim.sqlite_disk import SqliteDisk
from sim.wired import WiredModel

THIEVING_LIVES = 2
MAX_ROUNDS = 60_000
LAST_LIVES = 8
"""How often a person starts Bridle again after the last death, while the disk still fails."""
BETWEEN_LIVES = 10_000.0
"""Seconds from one life of the process to the next, and so from a pause to its answer."""
OFFLOAD_SECONDS = 0.05
_graveyard: list[Any] = []


class Scout(Cutter):
    """Lives on, and notes at every point at which others may die what would be left of it."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[Any] = []
        self.kept: dict[int, Left | None] = {}
        """What would be left, by the points at which it is another than before; None where it cannot be copied."""
        self.look: Callable[[], Any] = lambda: None
        self.keep: Callable[[], Left | None] = lambda: None

    async def point(self, name: str) -> None:
        if not self.dead:
            self.left.append(self.look())
            if len(self.left) == 1 or self.left[-1] != self.left[-2]:
                self.kept[len(self.left)] = self.keep()
        await super().point(name)


class JumpingClock(LoopClock):
    """A clock on the wall that somebody sets; the other one is not impressed."""

    def __init__(self, loop: VirtualLoop, start: float, jumps: Sequence[tuple[float, float]]) -> None:
        super().__init__(loop, start)
        self._jumps = jumps

    def wall(self) -> float:
        return super().wall() + sum(by for at, by in self._jumps if at <= self._loop.time())


class SlowOffload(InlineOffload):
    """Takes its time after each job, as a slow disk does; what others do meanwhile was too late for it."""

    async def run(self, job: Callable[[], Any]) -> Any:
        try:
            return job()
        finally:
            await asyncio.sleep(OFFLOAD_SECONDS)


class SimJournal(CuttableJournal):
    """The journal of a process that may die; the machine frees what it held."""

    def __init__(self, disk: Disk, seams: Seams, cutter: Cutter) -> None:
        self._disk = disk
        self._opened = disk.open(seams)
        super().__init__(Watched(disk, self._opened), cutter)

    def lose_leases(self) -> None:
        self._disk.free(self._opened, self._leases)


@dataclass
class Process:
    """One process of a life: a runtime, and what ends it."""

    runtime: Runtime
    cutter: Cutter
    journal: SimJournal


@dataclass
class SimWorld(World):
    """With what a server of tools has done, if there is one."""

    fetched: Any = None
    surprises: list[str] = field(default_factory=list)
    """With what drives ended that no disk is to blame for."""

    @property
    def fetches(self) -> int:
        return sum(self.fetched.done.values()) if self.fetched is not None else 0


def make_models(plan: Plan, world: World, cutter: Cutter) -> dict[str, CuttableModel]:
    cheap = {"price": plan.price, "context_window": plan.window, "max_output_tokens": min(8_192, plan.window // 4)}
    models = {}
    for which, ref in enumerate("mc"):
        wire, play = plan.wires[which], plan.model(which)
        inner: Any = (
            ScriptedModel(play, ref=ref, **cheap)
            if wire is None
            else WiredModel(wire, play, plan, world.invalid, ref=ref, **cheap)
        )
        models[ref] = CuttableModel(inner, world, cutter)
    return models


def start_process(plan: Plan, disk: Disk, world: SimWorld, cutter: Cutter, loop: VirtualLoop, life: int) -> Process:
    offload = SlowOffload if plan.slow else InlineOffload
    seams = Seams(JumpingClock(loop, EPOCH + BETWEEN_LIVES * life, plan.jumps), random.Random(life), offload)
    journal = SimJournal(disk, seams, cutter)
    peers = None
    if plan.peer is not None:
        from sim.peers import Peers

        peers = Peers(plan, disk.home, world.fetched, cutter)
    runtime = make_runtime(plan, world, seams, journal, cutter, peers=peers)
    if peers is not None:
        peers.join(runtime)
    runtime.bus.listen(disk.note)
    return Process(runtime, cutter, journal)


def make_runtime(
    plan: Plan,
    world: SimWorld,
    seams: Seams,
    journal: Any,
    cutter: Cutter,
    *,
    peers: Any = None,
    engine: MakesEngine | None = None,
    watched: Callable[[StructTool], StructTool] = lambda tool: tool,
) -> Runtime:
    """The runtime of one process, with the tools and agents of the plan."""
    tools = [
        watched(cuttable_tool(world, cutter, name=name, repeatable=name != "act", seconds=plan.tool_seconds))
        for name in ("look", "act", "gather")
    ]
    allowed = (Rule(PEER_TOOL, "*", "allow"),) if peers is not None else ()
    agents = [
        AgentDefinition(
            "build", model="m", steps=plan.steps, limits=plan.limits, permission=(*plan.permission, *allowed)
        ),
        AgentDefinition("child", model="c", steps=plan.child_steps, permission=(*plan.child_permission, *allowed)),
    ]
    return Runtime(
        RuntimeConfig(
            journal=journal,
            models=make_models(plan, world, cutter),
            settings=Settings(
                tree=plan.tree,
                limits=LimitSettings(subagent_tool_calls=6),
                mcp=peers.settings if peers is not None else {},
            ),
            subagents=["child"],
            tools=tools,
            agents=agents,
            directory="/project",
            seams=seams,
            environment=peers.environment if peers is not None else {},
        ),
        engine=engine,
    )


async def people(plan: Plan, process: Process) -> list[Result]:
    """They prompt, extend, compact and abort at times of their own, and wait for every answer."""
    runtime = process.runtime
    await _insisting(plan, lambda: runtime.create(SESSION))
    for at, item in plan.wishes:
        await asyncio.sleep(max(0.0, at - asyncio.get_running_loop().time()))
        await _insisting(plan, lambda item=item: runtime.journal.submit(SESSION, item))
        await _insisting(plan, lambda: runtime.resume(SESSION))
    results = [await _served(plan, runtime, id) for id in plan.prompts]
    # What has no prompt, such as a compaction, comes to its end as well.
    await _insisting(plan, lambda: _idle(runtime))
    return results


async def _insisting(plan: Plan, wish: Any) -> Any:
    """What a person wants; while nothing works, they try again."""
    while True:
        try:
            return await wish()
        except (JournalError, TurnLeft):
            if plan.heals is None and plan.service is None:
                raise
            await asyncio.sleep(1.0)


async def _served(plan: Plan, runtime: Runtime, prompt: str) -> Result:
    """Wait for a prompt as a person would: answering what is asked, releasing what is held."""
    while True:
        result: Result = await _insisting(plan, lambda: _awaited(runtime, prompt))
        if result.ended:
            return result
        while plan.health.sick:
            # Nobody is there.
            await asyncio.sleep(1.0)
        for ask in result.asks:
            chance = random.Random(f"{plan.seed} {ask.id}")
            choice = plan.answers.setdefault(ask.id, chance.choice(["once", "always", "reject", "reject because"]))
            word, _, why = choice.partition(" ")
            where = ask.session or SESSION
            item = AnswerItem(f"ans {ask.id}", ask.id.rpartition(":")[2], word, why)
            await _insisting(plan, lambda where=where, item=item: runtime.journal.submit(where, item))
            await _insisting(plan, lambda where=where: runtime.resume(where))
        await _insisting(plan, lambda: runtime.resume(SESSION))


async def _idle(runtime: Runtime) -> None:
    await runtime.resume(SESSION)
    await runtime.parked(SESSION)


async def _awaited(runtime: Runtime, prompt: str) -> Result:
    await runtime.resume(SESSION)
    return await runtime.wait(SESSION, prompt)


async def meddle(plan: Plan, disk: Disk, twin: Process, life: int) -> None:
    """A second process that drives whatever it finds, parents and subagents alike, until it dies."""
    chance = random.Random(f"twin {plan.seed} {life}")
    while not twin.cutter.dead:
        await asyncio.sleep(chance.choice([0.0, 0.0, 0.0, 0.0, 0.05, 0.3, 1.0, 4.0]))
        known = disk.names()
        if known:
            session = chance.choice(known)
            held = disk.held()
            if plan.thief and life < THIEVING_LIVES and held and chance.random() < 0.7:
                session = chance.choice(held)
                disk.steal(session)
                plan.seen["a lock was lost"] += 1
            await twin.runtime.engine.wake(session)


def heal(plan: Plan, loop: VirtualLoop) -> None:
    plan.seen["healed"] += 1
    plan.health.sick, plan.health.healed, plan.health.since = False, True, loop.time()


def live(plan: Plan, disk: Disk, world: SimWorld, cutter: Cutter, life: int) -> list[Result] | None:
    """One life on what the disk holds: how every prompt ended, or None if it died before."""
    loop = VirtualLoop(plan.seed + life, MAX_ROUNDS)
    loop.set_exception_handler(lambda *_: None)
    asyncio.set_event_loop(loop)
    if plan.heals is not None:
        plan.health.sick = life == 0
        loop.call_later(plan.heals if life == 0 else 0.0, heal, plan, loop)
    if isinstance(cutter, Scout):
        cutter.look = lambda: (disk.state, len(world.requests), sum(world.started.values()), world.fetches)
        cutter.keep = lambda: leave(plan, disk, world, life)
    with nothing_real():
        process = start_process(plan, disk, world, cutter, loop, life)
        task = loop.create_task(people(plan, process))
        task.add_done_callback(lambda _: loop.stop())
        twin = None
        if plan.twin:
            # Its death ends it alone: the locks that it held are free at once, as the kernel does it.
            twin = start_process(plan, disk, world, Cutter(plan.twin_cut), loop, life)
            twin.cutter.dies = twin.journal.lose_leases
            twin.runtime.seams.random.seed(-1 - life)
            loop.create_task(meddle(plan, disk, twin, life))
        # A cut runs no finally: what is left of a life is kept, so that nothing ever closes it.
        _graveyard.append((loop, task, process, twin))
        loop.run_forever()
    asyncio.set_event_loop(None)
    cut = process.cutter.dead
    died = twin is not None and twin.cutter.dead
    for one in (process, twin):
        if one is not None:
            one.cutter.dead = True
            world.surprises += surprises(one)
    plan.seen["the clock was set"] += any(at <= loop.time() for at, _ in plan.jumps)
    plan.seen["the second process died"] += died
    if cut:
        plan.seen["the process died"] += 1
        return None
    plan.health.took = loop.time() - plan.health.since if plan.health.healed else 0.0
    try:
        return task.result()
    except JournalError:
        # The person reads that the turn has not ended, and starts Bridle again.
        return None


def surprises(process: Process) -> list[str]:
    """Errors of drives that nobody may have waited for, and that no journal has told of."""
    ended = process.runtime.engine._failed.values()
    return [repr(error) for error in ended if not isinstance(error, JournalError)]


@dataclass
class History:
    """What is left when the last life has ended."""

    plan: Plan
    results: list[Result]
    disk: Disk
    sessions: dict[str, Kept]
    accounts: dict[str, Account]
    world: World
    lives: int


def simulate(seed: int) -> History:
    """Live through every cut of this seed's plan, then to the end."""
    plan = make_plan(seed)
    return lived(plan, [Cutter(at) for at in plan.cuts])


@dataclass
class Left:
    """All that a death leaves behind: what was written down, what was done, and what models and people remember."""

    plan: Plan
    disk: Disk
    world: SimWorld
    life: int


def leave(plan: Plan, disk: Disk, world: SimWorld, life: int) -> Left | None:
    """What would be left if everything died now; files are not copied, so that such a world is lived again."""
    if plan.disk != "memory" or plan.peer is not None:
        return None
    said = {key: list(replies) for key, replies in plan.said.items()}
    other = replace(plan, said=said, answers=dict(plan.answers), health=replace(plan.health), seen=Counter())
    done = SimWorld(**{name: copy(value) for name, value in vars(world).items()})
    return Left(other, disk.copied(other), done, life)


def lived_on(left: Left) -> History:
    """The lives after a death, which nobody ends."""
    left.plan.seen["the process died"] += 1
    _buried(left.disk, left.world)
    return _lives(left.plan, left.disk, left.world, [Cutter() for _ in range(LAST_LIVES)], left.life + 1)


def _buried(disk: Disk, world: SimWorld) -> None:
    disk.reboot()
    note_ended({id: kept.entries for id, kept in disk.kept().items()}, world)


def lived(plan: Plan, cutters: Sequence[Cutter]) -> History:
    """One life after the other, each with its end, and then those that nobody ends."""
    if plan.service is not None:
        # The client of servers takes a while to load: only worlds that have one do it.
        from sim.server_world import served_life

        return served_life(plan)
    disk = SqliteDisk(plan) if plan.disk == "sqlite" else MemoryDisk(plan)
    return _lives(plan, disk, SimWorld(), [*cutters, *(Cutter() for _ in range(LAST_LIVES))], 0)


def _lives(plan: Plan, disk: Disk, world: SimWorld, cutters: Sequence[Cutter], first: int) -> History:
    around: Any = nullcontext
    if plan.peer is not None:
        # So does that of tool servers.
        from sim.peers import Fetched, no_threads

        world.fetched, around = Fetched(), no_threads
    try:
        for life, cutter in enumerate(cutters, first):
            with around():
                results = live(plan, disk, world, cutter, life)
            if results is not None:
                return History(plan, results, disk, disk.kept(), disk.accounts(), world, life + 1)
            _buried(disk, world)
        raise AssertionError("the last life was not cut and did not end")
    finally:
        disk.close()
        # The dead are never collected, and need not be looked at each time anything else is.
        gc.freeze()
