"""Runtimes that every process of an engine test makes in the same way, and the worker process itself."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from bridle import Rule, Runtime, RuntimeConfig, ScriptedModel, call
from bridle.config.settings import Settings, TreeSettings
from bridle.core.agent import AgentDefinition
from bridle.core.messages import UserMessage
from bridle.core.permission import Access
from bridle.core.stream import ModelRequest, ToolSpec
from bridle.testing.scripted import ScriptedError
from bridle.tools.tool import Invocation, Output, StructTool, loader, struct_schema
from support.paths import TESTS
from support.worker_engine import WorkerEngine

Kind = Literal["local", "workers"]
KINDS: tuple[Kind, ...] = ("local", "workers")


class Key(msgspec.Struct):
    key: str = ""


def act(folder: Path) -> StructTool:
    """A tool whose effects are counted in a file, and which takes a moment."""

    async def work(given: Key, invocation: Invocation) -> Output:
        with (folder / "acts").open("a") as file:
            file.write(f"{invocation.session}/{invocation.call} {given.key}\n")
        await asyncio.sleep(5.0 if given.key == "long" else 0.02)
        return Output(f"did {given.key}")

    return StructTool(
        spec=ToolSpec("act", "act", struct_schema(Key)),
        load=loader(Key),
        work=work,
        permission="python",
        needs=lambda given, directory: (Access("python", given.key),),
    )


def play(request: ModelRequest) -> Any:
    """Do what the prompt says, one word a step: `act:KEY`, `task:WORDS` with `_` for spaces, `fail:`, `say:TEXT`."""
    prompts = [message.text for message in request.messages if isinstance(message, UserMessage) and ":" in message.text]
    words = prompts[-1].split()
    step = int(request.id.split(".")[1])
    does, _, rest = words[min(step, len(words)) - 1].partition(":")
    if does == "act":
        return call("act", key=rest)
    if does == "task":
        return call("task", description=rest, prompt=rest.replace("_", " "), subagent_type="child")
    return ScriptedError("broken", status=400) if does == "fail" else rest


def runtime(folder: Path, kind: Kind) -> Runtime:
    """Return a runtime on the journal of this folder; with workers it drives nothing itself."""
    path = folder / "journal.db"
    asks = (Rule("python", "asked", "ask"),)
    return Runtime(
        RuntimeConfig(
            journal=path,
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
        engine=(lambda setup: WorkerEngine(setup, path)) if kind == "workers" else None,
    )


class Workers:
    """Worker processes for one folder; a killed one is replaced."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self.processes = [self._start() for _ in range(number)]

    def _start(self) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "support.engine_app", str(self._folder)]
        process = subprocess.Popen(words, cwd=TESTS, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        return process

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
def workers(folder: Path, kind: Kind, number: int = 2) -> Iterator[Workers]:
    """Have worker processes beside the test, if its engine needs any."""
    there = Workers(folder, number if kind == "workers" else 0)
    try:
        yield there
    finally:
        there.close()


async def _work(folder: Path) -> None:
    async with runtime(folder, "workers") as worker:
        assert isinstance(worker.engine, WorkerEngine)
        print("ready", flush=True)
        await worker.engine.work()


if __name__ == "__main__":
    asyncio.run(_work(Path(sys.argv[1])))
