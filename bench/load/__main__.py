"""Many sessions at once on one journal: whether all of them end well, how late their events come, what they take."""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from bridle import Reply, Runtime, RuntimeConfig, ScriptedModel, call, tool
from bridle.core.agent import AgentDefinition
from bridle.core.events import Entry
from bridle.core.messages import ResultMessage
from bridle.core.stream import ModelRequest

PAGE = Path("docs/evidence/benchmarks-load.md")
SESSIONS = 200
PROCESSES = 8
STEPS = 10
WORDS = "some words of an answer " * 10


@tool
async def look(key: str) -> str:
    """Look at something."""
    await asyncio.sleep(0.01)
    return f"saw {key}"


class Load(NamedTuple):
    """What became of the sessions of one process."""

    sessions: int
    answered: int
    events: int
    seconds: float
    cpu: float
    late: list[float]
    """How long after it was recorded each event arrived, in milliseconds."""
    megabytes: float
    """What its memory grew by."""


def model(steps: int) -> ScriptedModel:
    """Calls a tool in every step but the last; its words come in small pieces, as those of a real one."""

    def said(request: ModelRequest) -> Reply:
        done = sum(isinstance(message, ResultMessage) for message in request.messages)
        calls = (call("look", key=str(done)),) if done < steps - 1 else ()
        return Reply(text=WORDS, chunk=12, pace=0.002, calls=calls)

    return ScriptedModel(said)


async def driven(path: Path, sessions: int, steps: int) -> Load:
    runtime = Runtime(
        RuntimeConfig(
            journal=path, models={"m": model(steps)}, agents=[AgentDefinition("build", model="m")], tools=[look]
        )
    )
    late: list[float] = []
    before, began, cpu = memory(), time.monotonic(), time.process_time()

    async def one() -> bool:
        session = await runtime.create()
        prompt = await runtime.prompt(session, "go")
        async for event in runtime.stream(session, prompt):
            if isinstance(event, Entry):
                late.append((time.time() - event.at) * 1000)
        return (await runtime.wait(session, prompt)).reason == "answered"

    async with runtime:
        ended = await asyncio.gather(*(one() for _ in range(sessions)))
    spent = time.process_time() - cpu
    return Load(sessions, sum(ended), len(late), time.monotonic() - began, spent, late, memory() - before)


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def share(values: Sequence[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def several(path: Path, processes: int, sessions: int, steps: int) -> list[Load]:
    """Processes that share a journal, each with its own sessions."""
    command = [sys.executable, __file__, "--child", str(path), "--sessions", str(sessions), "--steps", str(steps)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return [Load(*json.loads(each.communicate()[0])) for each in running]


def sound(path: Path) -> bool:
    with sqlite3.connect(path) as journal:
        return journal.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def row(words: str, loads: Sequence[Load]) -> str:
    late = [each for load in loads for each in load.late]
    sessions, answered = sum(load.sessions for load in loads), sum(load.answered for load in loads)
    seconds, cpu = max(load.seconds for load in loads), sum(load.cpu for load in loads)
    grown = sum(load.megabytes for load in loads) / sessions * 1024
    figures = f"{share(late, 0.5):.0f} | {share(late, 0.99):.0f} | {seconds:.1f} | {cpu:.1f} | {grown:.0f}"
    return f"| {words} | {answered} of {sessions} | {sum(load.events for load in loads):,} | {figures} |"


def page(sessions: int, processes: int, steps: int) -> tuple[str, bool]:
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "one.db", Path(folder) / "several.db"
        (alone,) = several(first, 1, sessions, steps)
        together = several(second, processes, max(1, sessions // processes), steps)
        met = all(load.answered == load.sessions for load in (alone, *together)) and sound(first) and sound(second)
    return (
        f"""# Benchmarks under load

Made by `bench/run load` on {datetime.now(UTC):%Y-%m-%d}: {platform.machine()}, {platform.system()}, \
Python {platform.python_version()}.
Sessions of {steps} steps with a call in each but the last, all at once, on one SQLite journal with the default
durability. The lateness of an event is the time from its record to the client that follows the session.

| | answered | events | late ms, half | late ms, 99 % | seconds | CPU s | kB a session |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{row("one process", [alone])}
{row(f"{processes} processes", together)}

- {"met" if met else "MISSED"}: every session ends with its answer, no lock blocks one, and the journals are intact
""",
        met,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--keep", action="store_true", help=f"write {PAGE}")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        print(json.dumps(asyncio.run(driven(given.child, given.sessions, given.steps))))
        return 0
    text, met = page(given.sessions, given.processes, given.steps)
    sys.stdout.write(text)
    if given.keep:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
