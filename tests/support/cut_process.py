"""A process that can be cut: its journal, model, tools and files die at a chosen point, and what is left lives on."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import msgspec

from bridle import Limits, ScriptedModel
from bridle.assembly.user_setup import UserSetup
from bridle.config.settings import Settings, TreeSettings
from bridle.core.agent import AgentDefinition
from bridle.core.events import Entry
from bridle.core.fold import load
from bridle.core.inbox import AnswerItem, InboxItem
from bridle.core.parts import Call, Changed, Patch
from bridle.core.permission import Access
from bridle.core.result import Result
from bridle.core.states import Ask, Done, Failed
from bridle.core.stream import ModelRequest, StreamEvent, ToolSpec
from bridle.journal.journal import Lease, Wake
from bridle.journal.memory import MemoryJournal
from bridle.runtime import Runtime, RuntimeConfig
from bridle.snapshots.snapshots import Snapshots
from bridle.testing.validators import problems
from bridle.tools.tool import Invocation, Output, StructTool, loader, struct_schema
from bridle.wire import entries as wire
from support.virtual import EPOCH, SESSION, VirtualLoop, virtual_seams
from support.wires import problems_on_wires


class WiredJournal(MemoryJournal):
    """A journal in memory that takes only what could also be written down and read back."""

    async def append(self, lease: Lease, entry: Entry, **rest: Any) -> None:
        for one in (*rest.get("before", ()), entry):
            assert wire.decode_events(wire.encode_events(one)) == one.events
        await super().append(lease, entry, **rest)
        if rest.get("change") is not None:
            account = self._accounts[rest["change"].account]
            assert wire.decode_account(wire.encode(account)) == account

    async def submit(self, session: str, item: InboxItem, *, wake: Wake | None = None) -> bool:
        return await super().submit(session, wire.decode_item(wire.encode(item)), wake=wake)


class Cutter:
    """Counts the points at which a process may die, and ends it at one of them: nothing runs after that."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.names: list[str] = []
        self.dead = False
        self.dies: Callable[[], None] | None = None
        """What the machine does at this death; without it the whole world ends."""

    async def point(self, name: str) -> None:
        if not self.dead:
            self.names.append(name)
            if len(self.names) == self.at:
                self.dead = True
                (self.dies or asyncio.get_running_loop().stop)()
        if self.dead:
            await asyncio.get_running_loop().create_future()


class CuttableJournal:
    """A journal whose process may die before and after every write."""

    def __init__(self, inner: MemoryJournal, cutter: Cutter) -> None:
        self._inner = inner
        self._cutter = cutter
        self._leases: dict[str, Lease] = {}

    def lose_leases(self) -> None:
        """The process is dead: the machine frees what it had locked."""
        for session, lease in self._leases.items():
            kept = self._inner._sessions[session]
            if kept.epoch == lease.epoch:
                kept.held = False

    async def append(self, lease: Lease, entry: Entry, **rest: Any) -> None:
        what = "+".join(type(event).__name__ for one in (*rest.get("before", ()), entry) for event in one.events)
        await self._cutter.point(f"append before {what}")
        await self._inner.append(lease, entry, **rest)
        await self._cutter.point(f"append after {what}")

    async def submit(self, session: str, item: InboxItem, *, wake: Wake | None = None) -> bool:
        await self._cutter.point(f"submit before {type(item).__name__}")
        fresh = await self._inner.submit(session, item, wake=wake)
        await self._cutter.point(f"submit after {type(item).__name__}")
        return fresh

    async def acquire(self, session: str) -> Lease | None:
        await self._cutter.point("acquire before")
        lease = await self._inner.acquire(session)
        if lease is not None:
            self._leases[session] = lease
            if self._cutter.dead:
                self.lose_leases()
        await self._cutter.point("acquire after")
        return lease

    async def release(self, lease: Lease) -> None:
        await self._cutter.point("release before")
        await self._inner.release(lease)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        async def alive(*values: Any, **named: Any) -> Any:
            try:
                if not self._cutter.dead:
                    return await method(*values, **named)
            finally:
                # Whatever it came to, the dead do not hear of it.
                if self._cutter.dead:
                    await asyncio.get_running_loop().create_future()

        return alive


@dataclass
class World:
    """What the tools have done, across all lives of the process."""

    started: Counter[str] = field(default_factory=Counter)
    ended: set[str] = field(default_factory=set)
    ran_after_end: list[str] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    """What was wrong with requests, as a provider would see it."""
    streaming: dict[str, Cutter] = field(default_factory=dict)
    most_streaming: int = 0
    """The most subagents that were being answered at the same moment by processes that lived."""


class Key(msgspec.Struct):
    key: str = ""


_KEY_SCHEMA = struct_schema(Key)


def cuttable_tool(world: World, cutter: Cutter, *, name: str, repeatable: bool, seconds: float = 0.0) -> StructTool:
    """A tool with a side effect that can be counted, and a process that may die before, in and after it."""

    async def work(given: Key, invocation: Invocation) -> Output:
        await cutter.point(f"{name} before")
        which = f"{invocation.session}/{invocation.call}"
        if which in world.ended:
            world.ran_after_end.append(which)
        world.started[f"{name} {which}"] += 1
        if seconds:
            await asyncio.sleep(seconds)
        await cutter.point(f"{name} in")
        return Output(
            f"{name} {given.key} is done" + (given.key.count("w") * 1_000 + given.key.count("v") * 200) * " word",
            synthesize=name == "gather",
        )

    return StructTool(
        spec=ToolSpec(name, name, _KEY_SCHEMA),
        load=loader(Key),
        work=work,
        permission="python",
        needs=lambda given, directory: (Access("python", name),),
        repeatable=repeatable,
    )


class CuttableModel:
    """A remote model: it goes on living when the process dies."""

    def __init__(self, inner: ScriptedModel, world: World, cutter: Cutter) -> None:
        self._inner = inner
        self._world = world
        self._cutter = cutter
        self.info = inner.info
        # Whoever speaks through a wire has every body checked on it.
        self._refused = getattr(inner, "refused", problems_on_wires)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        await self._cutter.point("model before")
        self._world.invalid += [
            f"{request.session} {request.id}: {problem}" for problem in [*problems(request), *self._refused(request)]
        ]
        self._world.requests.append(request)
        key = f"{request.session} {request.id} {len(self._world.requests)}"
        if request.session != SESSION:
            self._world.streaming[key] = self._cutter
        alive = sum(not cutter.dead for cutter in self._world.streaming.values())
        self._world.most_streaming = max(self._world.most_streaming, alive)
        try:
            async for event in self._inner.stream(request):
                if self._cutter.dead:
                    await asyncio.get_running_loop().create_future()
                yield event
        finally:
            self._world.streaming.pop(key, None)
        await self._cutter.point("model after")


@dataclass
class Life:
    """One process: what a scenario's people and programs work with."""

    runtime: Runtime
    cutter: Cutter
    world: World


@dataclass(frozen=True)
class Scenario:
    """A scripted turn, and the people around it."""

    name: str
    play: Callable[[ModelRequest], Any]
    people: Callable[[Life], Coroutine[Any, Any, Result]]
    ends: tuple[str, int, int]
    """How it must end: the reason, the steps, the calls that were run."""
    steps: int | None = None
    limits: Limits = Limits()
    on_ask: str = "deny"
    permission: tuple[Any, ...] = ()
    tools: Mapping[str, bool] = field(default_factory=lambda: {"look": True, "act": False})
    tool_seconds: float = 0.0
    turns: int = 1
    child: Callable[[ModelRequest], Any] | None = None
    """What a subagent says; without it there are none."""
    tree: TreeSettings = TreeSettings()
    child_steps: int | None = None
    handoffs: tuple[str, ...] = ()
    window: int = 128_000
    child_permission: tuple[Any, ...] = ()
    title: Any = None
    """What the small model says; without it there is none."""
    keeps_files: bool = False
    spare: Callable[[ModelRequest], Any] | None = None
    """What the fallback of the model says; without it there is none."""


class CuttableFiles:
    """Whoever keeps files, in a process that may die while it does; every look finds another change."""

    def __init__(self, cutter: Cutter) -> None:
        self._cutter = cutter

    async def take(self, directory: Any, session: str) -> str:
        await self._cutter.point("take")
        return "before"

    async def compare(self, directory: Any, session: str, patch: Patch) -> Patch:
        await self._cutter.point("compare")
        return msgspec.structs.replace(patch, after="after", files=(Changed("file", "changed", 1, 1),))


async def answer_once(life: Life, ask: Ask, choice: Literal["once", "always", "reject"] = "once") -> None:
    """Answer an ask where it came up; the same answer twice is one."""
    where = ask.session or SESSION
    item = AnswerItem(f"ans_{ask.id}", ask.id.rpartition(":")[2], choice)
    await life.runtime.journal.submit(where, item)
    await life.runtime.resume(where)


_graveyard: list[Any] = []


def live(
    scenario: Scenario, store: MemoryJournal, world: World, cutter: Cutter, *, life: int, seed: int | None = None
) -> Any:
    """One life of the process on what the journal holds: what its people return, or None if it was cut."""
    loop = VirtualLoop(None if seed is None else seed + life)
    loop.set_exception_handler(lambda *_: None)
    asyncio.set_event_loop(loop)
    seams = virtual_seams(loop, seed=life, start=EPOCH + 1000 * life)
    agents = [
        AgentDefinition(
            "build",
            model="m",
            fallback=("spare",) if scenario.spare is not None else (),
            steps=scenario.steps,
            limits=scenario.limits,
            permission=scenario.permission,
            handoffs=scenario.handoffs,
        )
    ]
    models = {"m": CuttableModel(ScriptedModel(scenario.play, context_window=scenario.window), world, cutter)}
    if scenario.spare is not None:
        models["spare"] = CuttableModel(ScriptedModel(scenario.spare, ref="spare"), world, cutter)
    if scenario.child is not None:
        agents.append(
            AgentDefinition("child", model="c", steps=scenario.child_steps, permission=scenario.child_permission)
        )
        models["c"] = CuttableModel(
            ScriptedModel(scenario.child, context_window=scenario.window, ref="c"), world, cutter
        )
    if scenario.title is not None:
        models["s"] = CuttableModel(ScriptedModel(title=scenario.title, ref="s"), world, cutter)
    runtime = Runtime(
        RuntimeConfig(
            journal=CuttableJournal(store, cutter),
            models=models,
            settings=Settings(tree=scenario.tree, small_model="s" if scenario.title is not None else None),
            user=UserSetup(files=cast(Snapshots, CuttableFiles(cutter)) if scenario.keeps_files else None),
            subagents=["child"] if scenario.child is not None else (),
            tools=[
                cuttable_tool(world, cutter, name=name, repeatable=repeatable, seconds=scenario.tool_seconds)
                for name, repeatable in scenario.tools.items()
            ],
            agents=agents,
            directory="/project",
            seams=seams,
            # Every turn looks for secrets in the variables, and no tool of these reads one.
            environment={},
        )
    )
    task = loop.create_task(scenario.people(Life(runtime, cutter, world)))
    task.add_done_callback(lambda _: loop.stop())
    loop.run_forever()
    asyncio.set_event_loop(None)
    if cutter.dead:
        # A cut runs no finally: the tasks of a dead process are kept, so that nothing ever closes them.
        _graveyard.append((loop, task, runtime))
        # The dead are never collected, and need not be looked at each time anything else is.
        gc.freeze()
        return None
    result = task.result()
    loop.close()
    return result


def reboot(store: MemoryJournal) -> None:
    """What the machine does when a process dies: its locks are free, its waiters are gone."""
    for kept in store._sessions.values():
        kept.held = False
        kept.bells.clear()


def note_endings(store: MemoryJournal, world: World) -> None:
    note_ended({session: kept.entries for session, kept in store._sessions.items()}, world)


def note_ended(kept: Mapping[str, Sequence[Entry]], world: World) -> None:
    """Remember which calls have a recorded end, so that a second start shows."""
    for session, entries in kept.items():
        for part in load(entries).parts.values():
            if isinstance(part, Call) and isinstance(part.state, (Done, Failed)):
                world.ended.add(f"{session}/{part.id}")
