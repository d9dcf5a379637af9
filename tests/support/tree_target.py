"""A process made to be killed: drives a part of a tree on a real journal, and notes what its tools do."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from bridle import Reply, Runtime, RuntimeConfig, ScriptedModel, call
from bridle.config.settings import Settings, TreeSettings
from bridle.core.agent import AgentDefinition
from bridle.core.inbox import PromptItem
from bridle.core.permission import Access
from bridle.core.stream import ModelRequest, ToolSpec
from bridle.testing.scripted import Scripted
from bridle.tools.tool import Invocation, Output, StructTool, loader, struct_schema
from support.journal_place import journal_in
from support.worker_engine import WorkerEngine

ROOT = "ses_tree"
CHILDREN = 3
STEPS = 6


class Key(msgspec.Struct):
    key: str = ""


def act(folder: Path) -> StructTool:
    async def work(given: Key, invocation: Invocation) -> Output:
        with (folder / "acts").open("a") as file:
            file.write(f"{invocation.session}/{invocation.call}\n")
        await asyncio.sleep(0.03)
        return Output(f"did {given.key}")

    return StructTool(
        spec=ToolSpec("act", "act", struct_schema(Key)),
        load=loader(Key),
        work=work,
        permission="python",
        needs=lambda given, directory: (Access("python", "act"),),
    )


def root(request: ModelRequest) -> Scripted:
    if len(request.messages) > 1:
        return "all done"
    beside = {"background": True} if "background" in request.messages[0].text else {}
    return [
        call("task", description="piece", prompt=f"piece {number}", subagent_type="child", **beside)
        for number in range(CHILDREN)
    ]


def child(request: ModelRequest) -> Scripted:
    step = int(request.id.split(".")[1])
    return Reply(calls=(call("act", key=request.id),), delay=0.02) if step < STEPS else "piece done"


def runtime(folder: Path, kind: str, wanted: Callable[[str], bool]) -> Runtime:
    """A runtime that drives only the sessions that are wanted here, and leaves the others to another process."""
    path = folder / "journal.db"
    work = Runtime(
        RuntimeConfig(
            journal=journal_in(folder),
            settings=Settings(tree=TreeSettings(live=CHILDREN)),
            models={"m": ScriptedModel(root, ref="m"), "c": ScriptedModel(child, ref="c")},
            tools=[act(folder)],
            agents=[AgentDefinition("build", model="m"), AgentDefinition("child", model="c")],
            subagents=["child"],
            directory=folder,
        ),
        engine=(lambda setup: WorkerEngine(setup, path, wanted)) if kind == "workers" else None,
    )
    if kind != "workers":
        drives_only(work, wanted)
    return work


def drives_only(work: Runtime, wanted: Callable[[str], bool]) -> None:
    """Leave the sessions that this process is not for to the other one."""
    wake = work.engine.wake

    async def some(session: str, *, held_prompts: bool = False) -> None:
        if wanted(session):
            await wake(session, held_prompts=held_prompts)

    vars(work.engine)["wake"] = some


async def parent(folder: Path, kind: str, prompt: str = "go") -> None:
    """The root alone; its subagents are for another process."""
    work = runtime(folder, kind, lambda session: session == ROOT)
    worker = asyncio.create_task(work.engine.work()) if isinstance(work.engine, WorkerEngine) else None
    await work.create(ROOT)
    await work.journal.submit(ROOT, PromptItem("prm", prompt))
    await work.resume(ROOT)
    result = await work.wait(ROOT, "prm")
    print(result.reason, result.text, flush=True)
    if worker is not None:
        worker.cancel()


async def worker(folder: Path, kind: str) -> None:
    """All subagents that there are, until killed."""
    work = runtime(folder, kind, lambda session: session != ROOT)
    print("ready", flush=True)
    if isinstance(work.engine, WorkerEngine):
        await work.engine.work()
    while True:
        for row in await work.sessions():
            if row.info.parent and not work.engine.drives(row.info.id):
                await work.engine.wake(row.info.id)
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run({"parent": parent, "worker": worker}[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:]))
    os._exit(0)
