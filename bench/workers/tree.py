"""The sessions of a run: trees of agents that note each call in a file; also the worker process that drives them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from pathlib import Path

import msgspec

from bridle import Budget, Limits, Price, Reply, Rule, Runtime, RuntimeConfig, ScriptedModel, call
from bridle.config.settings import Settings, TreeSettings
from bridle.core.agent import AgentDefinition
from bridle.core.events import SessionInfo
from bridle.core.messages import ResultMessage, UserMessage
from bridle.core.permission import Access
from bridle.core.states import Usage
from bridle.core.stream import ModelRequest, ToolSpec
from bridle.engine.worker import Worker
from bridle.engine.workers import WorkersEngine
from bridle.journal.postgres import PostgresJournal
from bridle.journal.postgres_presence import LeaseTimes
from bridle.tools.tool import Invocation, Output, StructTool, loader, struct_schema

SUBAGENTS = 3
LEAF_CALLS = 2
TENANTS = tuple(f"tenant-{number}" for number in range(10))
REQUEST = 0.001
"""The cost of one request in US dollars."""
POOR, POOR_BUDGET = TENANTS[0], Budget(daily=Limits(cost=60 * REQUEST))
"""A tenant whose budget ends before its sessions do."""
TREE_COST = 40 * REQUEST
MOST_CONCURRENT = 200
HUNG_SECONDS = 600.0
GRACE_SECONDS = 2.0


class Journaled(msgspec.Struct, frozen=True):
    """Where a run keeps its sessions, and the times of its leases; given to workers as JSON."""

    url: str
    schema: str
    folder: str
    times: dict[str, float]
    call_seconds: float = 1.0

    @property
    def acts(self) -> Path:
        """The file with a line for each call that was begun."""
        return Path(self.folder) / "acts"

    def journal(self) -> PostgresJournal:
        return PostgresJournal(self.url, schema=self.schema, times=LeaseTimes(**self.times))


class Key(msgspec.Struct):
    key: str = ""


def act(given: Journaled) -> StructTool:
    """A tool whose calls leave a line each, before and after they took a while. Not safe to repeat."""

    def note(word: str, invocation: Invocation) -> None:
        handle = os.open(given.acts, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(handle, f"{word} {invocation.session}/{invocation.call}\n".encode())
        os.close(handle)

    async def work(arguments: Key, invocation: Invocation) -> Output:
        note("begun", invocation)
        await asyncio.sleep(HUNG_SECONDS if arguments.key == "long" else given.call_seconds)
        note("done", invocation)
        return Output("did it")

    return StructTool(
        spec=ToolSpec("act", "act", struct_schema(Key)),
        load=loader(Key),
        work=work,
        permission="python",
        needs=lambda arguments, directory: (Access("python", "act"),),
    )


def play(request: ModelRequest) -> Reply:
    """Play a root with subagents, a leaf, or a session with long calls, by its first prompt."""
    first = next((message.text for message in request.messages if isinstance(message, UserMessage)), "")
    done = sum(isinstance(message, ResultMessage) for message in request.messages)
    usage = Usage(300, 700)
    if not request.tools:
        return Reply(text="done", usage=usage)
    if first == "tree" and not done:
        leaves = [
            call("task", description=f"leaf {number}", prompt=f"leaf {number}", subagent_type="leaf")
            for number in range(SUBAGENTS)
        ]
        return Reply(calls=tuple(leaves), usage=usage, delay=0.1)
    more = done < (SUBAGENTS + 1 if first == "tree" else LEAF_CALLS)
    calls = (call("act", key="long" if first == "long" else str(done)),) if more else ()
    return Reply(text="done", calls=calls, usage=usage, delay=0.1)


def runtime(given: Journaled) -> Runtime:
    """Return a runtime that drives only what it is given; without a worker it submits and looks."""
    model = ScriptedModel(play, ref="m", price=Price(1.0, 1.0), max_output_tokens=700)
    allowed = (Rule("*", "*", "allow"),)
    return Runtime(
        RuntimeConfig(
            journal=given.journal(),
            settings=Settings(tree=TreeSettings(live=SUBAGENTS, cost=TREE_COST)),
            models={"m": model},
            tools=[act(given)],
            agents=[AgentDefinition(name, model="m", permission=allowed) for name in ("build", "leaf")],
            subagents=["leaf"],
            directory=given.folder,
        ),
        engine=WorkersEngine,
    )


class OneEngine:
    """Drives all sessions with one engine; see `Drivers`."""

    def __init__(self, engine: WorkersEngine) -> None:
        self._engine = engine

    async def engine_for(self, info: SessionInfo) -> WorkersEngine:
        return self._engine

    async def close(self) -> None:
        await self._engine.close(GRACE_SECONDS)


def show_tasks() -> None:
    """Print where each task waits: for runs that are stuck."""
    for task in asyncio.all_tasks():
        frames, waits = [], task.get_coro()
        while waits is not None:
            frame = getattr(waits, "cr_frame", None) or getattr(waits, "ag_frame", None)
            frames += [f"{frame.f_code.co_qualname}:{frame.f_lineno}"] if frame is not None else [repr(waits)[:80]]
            waits = getattr(waits, "cr_await", None) or getattr(waits, "ag_await", None)
        print("task", " > ".join(frames), file=sys.stderr, flush=True)


async def work(given: Journaled) -> None:
    """Be a worker until SIGTERM."""
    async with runtime(given) as here:
        assert isinstance(here.engine, WorkersEngine) and isinstance(here.journal, PostgresJournal)
        worker = Worker(here.journal, OneEngine(here.engine), ["@"], here.seams, concurrency=MOST_CONCURRENT)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, show_tasks)
        # The end of the run, also a sudden one, is its end.
        asyncio.get_running_loop().add_reader(0, os._exit, 1)
        print("ready", flush=True)
        await worker.run()
        await here.journal.close()


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    asyncio.run(work(msgspec.convert(json.loads(sys.argv[1]), Journaled)))
