"""A process made to be killed: drives a session on a real journal and says what was acknowledged."""

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from bridle import Runtime, RuntimeConfig, ScriptedModel, call
from bridle.config.settings import Behavior, LimitSettings, Settings
from bridle.core.agent import AgentDefinition
from bridle.core.inbox import PromptItem
from bridle.core.permission import Access
from bridle.core.stream import ModelRequest, ToolSpec
from bridle.testing.scripted import Scripted
from bridle.tools.tool import Invocation, Output, StructTool, loader, struct_schema
from support.journal_place import journal_in
from support.worker_engine import WorkerEngine

SESSION = "ses_kill"
STEPS = 30


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def play(request: ModelRequest) -> Scripted:
    turn, step, _ = request.id.split(".")
    if int(step) >= STEPS:
        return f"turn {turn} is done"
    return [call("act", key=f"{step}a"), call("look", key=f"{step}b")]


class Key(msgspec.Struct):
    key: str = ""


def tools(folder: Path) -> list[StructTool]:
    def make(name: str, repeatable: bool) -> StructTool:
        async def work(given: Key, invocation: Invocation) -> Output:
            with (folder / name).open("a") as file:
                file.write(f"{invocation.call} {given.key}\n")
            return Output(f"{name} {invocation.call}")

        return StructTool(
            ToolSpec(name, name, struct_schema(Key)),
            loader(Key),
            work,
            "python",
            lambda given, directory: (Access("python", name),),
            repeatable,
        )

    return [make("act", False), make("look", True)]


async def main(folder: Path, prompt: str, kind: str) -> None:
    settings = Settings(behavior=Behavior(max_steps=STEPS), limits=LimitSettings(tool_calls=None))
    runtime = Runtime(
        RuntimeConfig(
            journal=journal_in(folder),
            settings=settings,
            models={"m": ScriptedModel(play)},
            tools=tools(folder),
            agents=[AgentDefinition("build", model="m")],
            directory=folder,
        ),
        engine=(lambda setup: WorkerEngine(setup, folder / "journal.db")) if kind == "workers" else None,
    )
    work = asyncio.create_task(runtime.engine.work()) if isinstance(runtime.engine, WorkerEngine) else None
    runtime.bus.listen(lambda session, entry: say(f"ack {entry.sequence}"))
    await runtime.create(SESSION)
    await runtime.journal.submit(SESSION, PromptItem(prompt, "go"))
    await runtime.resume(SESSION)
    say("ready")
    result = await runtime.wait(SESSION, prompt)
    say(f"finished {result.reason} {result.steps}")
    await runtime.close()
    if work is not None:
        await work


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
