"""The same work for every contender: sessions of some steps each, so many of them at once, kept on a database.

A step is a request to a model inside the process, answered with 200 characters of text and a call of `add`, and that
call. The last request of a session is answered with "done". One session is run first, so that imports, tables and
connections are there. CPU is that of the process, and that of the database server with all its processes.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bench.processes import cpu_seconds

TEXT = "I add the next pair of numbers now. ".ljust(200, "-")
ANSWER = "done"

calls = 0


@dataclass(frozen=True)
class Work:
    """What a contender is given."""

    steps: int
    database: str
    """The address of an empty database on the server."""
    data: Path
    """An empty folder."""


Run = Callable[[str], Awaitable[str]]
"""Runs one session, whose name is given, and returns its answer."""
Open = Callable[[Work], AbstractAsyncContextManager[Run]]


def arguments_of(step: int) -> dict[str, int]:
    return {"a": step, "b": 1}


def add_up(a: int, b: int) -> str:
    global calls
    calls += 1
    return str(a + b).ljust(100, ".")


async def together(run: Run, sessions: int, at_once: int) -> int:
    """Run all sessions, so many at once, and count those that ended well."""
    waiting = iter(range(sessions))

    async def one_after_the_other() -> int:
        return sum([await run(f"session-{number}") == ANSWER for number in waiting])

    return sum(await asyncio.gather(*(one_after_the_other() for _ in range(at_once))))


async def work(open_contender: Open, given: argparse.Namespace) -> dict[str, float]:
    async with open_contender(Work(given.steps, given.database, given.data)) as run:
        if await run("first") != ANSWER:
            raise SystemExit("the first session failed")
        before, client = calls, time.process_time()
        server = cpu_seconds(given.server) if given.server else 0.0
        began = time.monotonic()
        ended = await together(run, given.sessions, given.at_once)
        seconds, client = time.monotonic() - began, time.process_time() - client
        server = cpu_seconds(given.server) - server if given.server else 0.0
    steps = given.sessions * given.steps
    if (ended, calls - before) != (given.sessions, steps):
        raise SystemExit(f"{ended} of {given.sessions} sessions ended well, after {calls - before} of {steps} calls")
    return {"steps": steps, "seconds": seconds, "client": client, "server": server}


def measure(package: str, open_contender: Open) -> None:
    """Run the sessions, and print what they cost as one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--sessions", type=int, required=True)
    parser.add_argument("--at-once", type=int, required=True)
    parser.add_argument("--database", default="")
    parser.add_argument("--server", type=int, default=0, help="the first process of the server, whose CPU counts")
    parser.add_argument("--data", type=Path, required=True)
    given, _ = parser.parse_known_args()
    given.data.mkdir(parents=True, exist_ok=True)
    print(json.dumps({"version": version(package), **asyncio.run(work(open_contender, given))}))
