"""One life on a PostgreSQL server: people in one process, workers in others, and what befalls them all."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import psycopg
from support.cut_process import Cutter
from support.virtual import EPOCH, InlineOffload, LoopClock

from bridle.core.events import SessionInfo
from bridle.core.result import Result
from bridle.engine import drive, workers
from bridle.engine.worker import Worker
from bridle.engine.workers import WorkersEngine
from bridle.errors import BridleError
from bridle.runtime import Runtime, session_reader
from bridle.seams import Seams
from bridle.tools.tool import Invocation, Output, StructTool
from sim.guard import nothing_real
from sim.plan import Plan
from sim.server_disk import ServedJournal, ServerDisk
from sim.server_link import ModelServer
from sim.server_loop import Process, ServerLoop
from sim.server_plan import ServerTrouble
from sim.server_tables import Tables
from sim.world import History, SimWorld, make_runtime, people

MAX_ROUNDS = 40_000
SETTLE_SECONDS = 60.0
"""What workers may take to let go of everything once all prompts have ended."""
LOOK_SECONDS = 2.0
"""How often those who wait look again: a world waits longer than a person, and nothing depends on it."""
MOST_AT_ONCE = 20
SOON_SECONDS, LATER_SECONDS = 0.002, 10.0
_graveyard: list[Any] = []


class ApartClock(LoopClock):
    """The clocks of one machine."""

    def __init__(self, loop: ServerLoop, process: Process) -> None:
        super().__init__(loop, EPOCH + process.apart)
        self._booted = process.booted

    def since_boot(self) -> float:
        return super().since_boot() + self._booted


class ModelQueue:
    """See `procrastinate.App`, as far as `Worker` uses it: wakes of the model, fetched again and again."""

    def __init__(self, server: ModelServer, process: Process, follow: Callable[..., Coroutine[Any, Any, None]]) -> None:
        self._server = server
        self._process = process
        self._follow = follow
        self._connection: Any = None

    @asynccontextmanager
    async def open_async(self) -> AsyncIterator[None]:
        self._connection = await self._server.connect(self._process)
        try:
            yield
        finally:
            await self._connection.close()

    async def run_worker_async(
        self,
        *,
        queues: list[str],
        concurrency: int,
        fetch_job_polling_interval: float,
        update_heartbeat_interval: float,
        **_: Any,
    ) -> None:
        ask = self._connection.ask
        me = await ask(Tables.follow)
        signed = asyncio.get_running_loop().time()
        running: set[asyncio.Task[None]] = set()
        try:
            while True:
                if asyncio.get_running_loop().time() >= signed + update_heartbeat_interval:
                    await ask(lambda tables: tables.sign(me))
                    signed = asyncio.get_running_loop().time()
                found = await ask(lambda tables: _fetched(tables, me, queues))
                if found is None or len(running) >= concurrency:
                    await asyncio.sleep(fetch_job_polling_interval)
                    continue
                task = asyncio.ensure_future(self._follows(me, *found))
                running.add(task)
                task.add_done_callback(running.discard)
        finally:
            for task in running:
                task.cancel()

    async def _follows(self, me: int, session: str, held: bool) -> None:
        await self._follow(session=session, held=held)
        # One that cannot be ended is cleared once its worker gives no sign any more.
        with suppress(psycopg.Error):
            await self._connection.ask(lambda tables: tables.finish(me, session))


def _fetched(tables: Tables, me: int, queues: list[str]) -> tuple[str, bool] | None:
    job = tables.fetch(me, queues)
    return None if job is None else (job.session, job.held)


@dataclass
class One:
    """One worker, or the process of the people."""

    process: Process
    cutter: Cutter
    runtime: Runtime
    journal: ServedJournal


class Drives:
    """See `Drivers`: one engine for every session."""

    def __init__(self, engine: WorkersEngine) -> None:
        self._engine = engine

    async def engine_for(self, info: SessionInfo) -> WorkersEngine:
        return self._engine

    async def close(self) -> None:
        await self._engine.close(1.0)


class Machines:
    """All processes of a world, and its troubles."""

    def __init__(self, plan: Plan, disk: ServerDisk, world: SimWorld, loop: ServerLoop) -> None:
        assert plan.service is not None
        self._plan, self._service, self._disk, self._world, self._loop = plan, plan.service, disk, world, loop
        self._chance = random.Random(f"machines {plan.seed}")
        self._cuts = iter(self._service.cuts)
        self._workers: list[One] = []
        self._count = 0
        self.people = self._process(0)

    def begin(self) -> One:
        """Start the people's process and the workers, and let happen what the plan says."""
        people = self._one(self.people, Cutter())
        for place in range(self._service.workers):
            self._workers.append(self._worker(place))
        for trouble in self._service.troubles:
            self._loop.beside(trouble.at, self._befall, trouble)
        return people

    def _process(self, place: int) -> Process:
        self._count += 1
        return Process(f"process {self._count}", self._service.apart[place], booted=1_000.0 * self._count)

    def _one(self, process: Process, cutter: Cutter) -> One:
        seams = Seams(ApartClock(self._loop, process), random.Random(f"{self._plan.seed} {self._count}"), InlineOffload)
        # Copied, because the people's own is the one in which all this is made.
        return process.context.copy().run(self._made, process, cutter, seams)

    def _made(self, process: Process, cutter: Cutter, seams: Seams) -> One:
        journal = self._disk.journal(seams, cutter, process)
        watched = partial(self._noting, process)
        runtime = make_runtime(self._plan, self._world, seams, journal, cutter, engine=WorkersEngine, watched=watched)
        runtime.bus.listen(self._disk.note)
        return One(process, cutter, runtime, journal)

    def _noting(self, process: Process, tool: StructTool) -> StructTool:
        """The same tool; while it runs, the disk knows by whom."""
        running, inner = self._disk.running, tool.work

        async def work(given: Any, invocation: Invocation) -> Output:
            entry = (process, invocation.session)
            running.append(entry)
            try:
                return await inner(given, invocation)
            finally:
                running.remove(entry)

        return replace(tool, work=work)

    def _worker(self, place: int) -> One:
        one = self._one(self._process(place + 1), Cutter(next(self._cuts, None)))
        one.cutter.dies = partial(self._die, place)
        engine = one.runtime.engine
        assert isinstance(engine, WorkersEngine)
        worker = Worker(one.journal, Drives(engine), ["@"], one.runtime.seams, concurrency=MOST_AT_ONCE)
        queue: Any = ModelQueue(self._disk.server, one.process, worker._job)
        worker._app = queue
        self._loop.create_task(self._work(place, worker), context=one.process.context)
        return one

    async def _work(self, place: int, worker: Worker) -> None:
        try:
            await worker.run()
        except BridleError:
            # Its supervisor starts it again.
            self._die(place)

    def _die(self, place: int) -> None:
        one = self._workers[place]
        one.cutter.dead = True
        self._plan.seen["server: a worker died"] += 1
        presence, lines = one.journal._presence, self._disk.server.tables.sessions.values()
        self._disk.orphaned([line.id for line in lines if presence is not None and line.holder == presence.id])
        self._disk.died(one.process)
        self._loop.beside(self._chance.choice([0.3, 2.0, 8.0]), self._replace, place)

    def _replace(self, place: int) -> None:
        self._workers[place] = self._worker(place)

    def _befall(self, trouble: ServerTrouble) -> None:
        one, server = self._workers[trouble.worker], self._disk.server
        match trouble.kind:
            case "cut":
                server.cut(lambda connection: connection.process is one.process)
            case "silent":
                one.process.silent_until = self._loop.time() + trouble.seconds
            case "frozen":
                self._loop.freeze(one.process, trouble.seconds)
                self._forget_streams(one)
            case "restarted" if not server.has_unflushed and self._loop.time() < trouble.at + LATER_SECONDS:
                # A moment at which something can be lost comes soon.
                self._loop.beside(SOON_SECONDS, self._befall, trouble)
            case "restarted":
                self._disk.crash(trouble.seconds / 3)
            case "killed":
                if not one.process.dead:
                    self._die(trouble.worker)
        if self._loop.time() < trouble.at + SOON_SECONDS:
            self._plan.seen[f"server: {trouble.kind}"] += 1

    def end(self) -> None:
        """Nothing of the processes runs any more."""
        for one in self._workers:
            one.cutter.dead = True

    def _forget_streams(self, one: One) -> None:
        """What a frozen process was told goes on only when it goes on, and then it is late."""
        for key in [key for key, cutter in self._world.streaming.items() if cutter is one.cutter]:
            del self._world.streaming[key]


async def settled(disk: ServerDisk) -> list[str]:
    """What is left behind, after a while in which the workers may let go of it."""
    ends = asyncio.get_running_loop().time() + SETTLE_SECONDS
    while (busy := disk.busy()) and asyncio.get_running_loop().time() < ends:
        await asyncio.sleep(LOOK_SECONDS)
    return busy


def served_life(plan: Plan) -> History:
    """The one life of a world on a server, in which workers come and go."""
    world = SimWorld()
    disk = ServerDisk(plan, world)
    loop = ServerLoop(plan.seed, MAX_ROUNDS)
    loop.set_exception_handler(lambda *_: None)
    asyncio.set_event_loop(loop)
    # The dead wait for what never comes, in circles that would be collected and so closed.
    gc.disable()
    try:
        with nothing_real(), _patient():
            machines = Machines(plan, disk, world, loop)
            task = loop.create_task(_story(plan, disk, machines), context=machines.people.context)
            task.add_done_callback(lambda _: loop.stop())
            # Nothing of a world is ever closed: its processes stand still where they are.
            _graveyard.append((loop, task, machines))
            loop.run_forever()
    finally:
        asyncio.set_event_loop(None)
        gc.freeze()
        gc.enable()
    machines.end()
    world.surprises += disk.server.tables.problems
    return History(plan, task.result(), disk, disk.kept(), disk.accounts(), world, 1)


async def _story(plan: Plan, disk: ServerDisk, machines: Machines) -> list[Result]:
    results = await people(plan, machines.begin())
    disk.left_behind = await settled(disk)
    return results


@contextmanager
def _patient() -> Iterator[None]:
    """Let those who wait look less often."""
    known = workers.LOOK_SECONDS, session_reader.LOOK_SECONDS, drive.LOOK_SECONDS
    workers.LOOK_SECONDS = session_reader.LOOK_SECONDS = drive.LOOK_SECONDS = LOOK_SECONDS
    try:
        yield
    finally:
        workers.LOOK_SECONDS, session_reader.LOOK_SECONDS, drive.LOOK_SECONDS = known
