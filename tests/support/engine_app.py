"""Runtimes that every process of an engine test makes in the same way, and the worker process itself."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bridle import Rule, Runtime, RuntimeConfig, ScriptedModel, call
from bridle.config.settings import Settings, TreeSettings
from bridle.core.agent import AgentDefinition
from bridle.core.events import SessionInfo
from bridle.core.messages import UserMessage
from bridle.core.permission import Access
from bridle.core.stream import ModelRequest, ToolSpec
from bridle.engine.drive import DriveSetup
from bridle.engine.engine import Engine
from bridle.engine.local import LocalEngine
from bridle.engine.worker import Worker
from bridle.engine.workers import WorkersEngine
from bridle.journal.journal import Journal
from bridle.journal.postgres import PostgresJournal
from bridle.testing.scripted import Reply, ScriptedError
from bridle.tools.tool import Invocation, Output, StructTool, loader, struct_schema
from support.journal_place import is_on_server, journal_in, put_on_server
from support.paths import TESTS
from support.worker_engine import WorkerEngine


class Kind(NamedTuple):
    """An engine under test: made for a runtime whose journal is at a path, with worker processes where it needs any.

    Each worker process has such an engine of its own, and calls its `work`.
    """

    make: Callable[[DriveSetup, Path], Engine]
    workers: int = 0
    server: bool = False
    """Whether the journal is on PostgreSQL."""


KINDS = {
    "local": Kind(lambda setup, path: LocalEngine(setup)),
    "workers": Kind(WorkerEngine, workers=2),
    "procrastinate": Kind(lambda setup, path: WorkersEngine(setup), workers=2, server=True),
}


def journal_for(folder: Path, kind: str) -> Journal | Path:
    """Return the journal of a folder: a file in it, or a schema of the test server that is named in it."""
    if not KINDS[kind].server:
        return folder / "journal.db"
    if not is_on_server(folder):
        put_on_server(folder)
    return journal_in(folder)


WORDS = [f"word-{n}" for n in range(8)]
SECONDS = {"endless": 600.0, "long": 5.0, "slow": 0.5}


class Key(msgspec.Struct):
    key: str = ""


def act(folder: Path) -> StructTool:
    """A tool whose effects are counted in a file, and which takes a moment, long, or kills its worker."""

    async def work(given: Key, invocation: Invocation) -> Output:
        with (folder / "acts").open("a") as file:
            file.write(f"{invocation.session}/{invocation.call} {given.key}\n")
        if given.key == "aloud":
            for word in WORDS:
                invocation.print(f"{word} ")
                await asyncio.sleep(0.05)
        if given.key == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.sleep(SECONDS.get(given.key, 0.02))
        return Output(f"did {given.key}")

    return StructTool(
        spec=ToolSpec("act", "act", struct_schema(Key)),
        load=loader(Key),
        work=work,
        permission="python",
        needs=lambda given, directory: (Access("python", given.key),),
    )


def play(request: ModelRequest) -> Any:
    """Do what the prompt says, one word a step.

    The words are `act:KEY`, `task:WORDS` with `_` for spaces, `fail:`, `say:TEXT`, and `tell:` for a slow text.
    """
    prompts = [message.text for message in request.messages if isinstance(message, UserMessage) and ":" in message.text]
    words = prompts[-1].split()
    step = int(request.id.split(".")[1])
    does, _, rest = words[min(step, len(words)) - 1].partition(":")
    if does == "act":
        return Reply(calls=(call("act", key=rest),), chunk=4, pace=0.05) if rest == "aloud" else call("act", key=rest)
    if does == "task":
        return call("task", description=rest, prompt=rest.replace("_", " "), subagent_type="child")
    if does == "tell":
        return Reply(text=" ".join(WORDS), reasoning=" ".join(WORDS), chunk=6, pace=0.05)
    return ScriptedError("broken", status=400) if does == "fail" else rest


def runtime(folder: Path, kind: str) -> Runtime:
    """Return a runtime on the journal of this folder; with workers it drives nothing itself."""
    journal = journal_for(folder, kind)
    asks = (Rule("python", "asked", "ask"),)
    return Runtime(
        RuntimeConfig(
            journal=journal,
            settings=Settings(tree=TreeSettings(live=3)),
            models={"m": ScriptedModel(play, ref="m")},
            tools=[act(folder)],
            agents=[
                AgentDefinition("build", model="m", permission=asks),
                AgentDefinition("child", model="m", permission=asks),
            ],
            subagents=["child"],
            directory=folder,
        ),
        engine=lambda setup: KINDS[kind].make(setup, folder / "journal.db"),
    )


class OneEngine:
    """Drives all sessions with the engine of one runtime; see `Drivers`."""

    def __init__(self, engine: WorkersEngine) -> None:
        self._engine = engine

    async def engine_for(self, info: SessionInfo) -> WorkersEngine:
        return self._engine

    async def close(self) -> None:
        await self._engine.close(grace=1.0)


class Workers:
    """Worker processes for one folder, as many as its engine needs; a killed one is replaced."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder = folder
        self.kind = kind
        # Named by this process: a worker would start a server of its own, which would outlive it.
        journal_for(folder, kind)
        self.processes = [self._start() for _ in range(KINDS[kind].workers)]

    def _start(self) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "support.engine_app", str(self._folder), self.kind]
        process = subprocess.Popen(words, cwd=TESTS, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        return process

    def replace_dead(self) -> int:
        """Start others in the place of those that have died; return their number."""
        dead = [process for process in self.processes if process.poll() is not None]
        for process in dead:
            process.communicate()
            self.processes[self.processes.index(process)] = self._start()
        return len(dead)

    def kill(self) -> None:
        """Kill all of them at once, and start others."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.communicate()
        self.processes = [self._start() for _ in self.processes]

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@contextmanager
def workers(folder: Path, kind: str) -> Iterator[Workers]:
    """Have worker processes beside the test, if its engine needs any."""
    there = Workers(folder, kind)
    try:
        yield there
    finally:
        there.close()


async def _work(folder: Path, kind: str) -> None:
    async with runtime(folder, kind) as here:
        engine: Any = here.engine
        print("ready", flush=True)
        if not KINDS[kind].server:
            await engine.work()
            return
        assert isinstance(here.journal, PostgresJournal)
        worker = Worker(here.journal, OneEngine(engine), ["@"], here.seams)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        await worker.run()
        await here.journal.close()


if __name__ == "__main__":
    asyncio.run(_work(Path(sys.argv[1]), sys.argv[2]))
