"""A worker on PostgreSQL with short leases that runs bash, made to be frozen; and the runtime of who watches it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Literal

from bridle import Rule, Runtime, RuntimeConfig, ScriptedModel, call
from bridle.config.settings import SandboxSettings, Settings
from bridle.core.agent import AgentDefinition
from bridle.core.messages import ResultMessage
from bridle.core.stream import ModelRequest
from bridle.engine.worker import Worker
from bridle.engine.workers import WorkersEngine
from bridle.journal.postgres import PostgresJournal
from bridle.journal.postgres_presence import LeaseTimes
from bridle.testing.scripted import Scripted
from bridle.tools.registry import builtin_tools
from support.engine_app import OneEngine

TIMES = LeaseTimes(
    lease_seconds=4.0, heartbeat_seconds=0.5, deadline_seconds=2.0, answer_seconds=1.0, supervisor_seconds=1.6
)
Mode = Literal["off", "required"]


def play(request: ModelRequest) -> Scripted:
    """Run the prompt as a command, and then say what the model was told about it."""
    results = [message for message in request.messages if isinstance(message, ResultMessage)]
    if results:
        return "it was cut" if "unknown" in str(results[-1]) else str(results[-1])
    return call("bash", command=request.messages[0].text, description="d")


def runtime(folder: Path, url: str, schema: str, mode: Mode) -> Runtime:
    """Return a runtime that drives nothing by itself."""
    return Runtime(
        RuntimeConfig(
            journal=PostgresJournal(url, schema=schema, times=TIMES),
            settings=Settings(sandbox=SandboxSettings(mode=mode)),
            models={"m": ScriptedModel(play, ref="m")},
            tools=[tool for tool in builtin_tools() if tool.spec.name == "bash"],
            agents=[AgentDefinition("build", model="m", permission=(Rule("*", "*", "allow"),))],
            directory=folder,
        ),
        engine=WorkersEngine,
    )


async def work(folder: Path, url: str, schema: str, mode: Mode) -> None:
    async with runtime(folder, url, schema, mode) as here:
        assert isinstance(here.engine, WorkersEngine) and isinstance(here.journal, PostgresJournal)
        print("ready", flush=True)
        await Worker(here.journal, OneEngine(here.engine), ["@"], here.seams).run()


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2], sys.argv[3], "required" if sys.argv[4] == "required" else "off"))
