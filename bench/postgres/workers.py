"""Worker processes on one server: whether all sessions end well, and how many connections they take meanwhile."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from bench.contender import PATHS
from bench.postgres.following import look, model
from bench.postgres.server import Server
from bridle import Agent, Settings, WorkerSettings

WORKERS = 10
SESSIONS = 200
STEPS = 10
MOST_CONNECTIONS = 100
LOOK_SECONDS = 0.05
LONGEST_SECONDS = 300.0
ADDRESS = "BENCH_DATABASE"
CONNECTIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND datname = current_database()
"""

looker = Agent("looker", app="bench", model=model(STEPS), tools=[look], journal=os.environ.get(ADDRESS))
"""What the workers drive."""


@dataclass(frozen=True)
class Working:
    """What became of the sessions, and what the workers took."""

    workers: int
    answered: int
    sessions: int
    connections: int
    """The most at one moment, those of the process that asks included."""
    seconds: float

    def goals(self) -> list[tuple[str, bool]]:
        return [
            (
                f"sessions that {self.workers} workers have answered: {self.answered} (goal {self.sessions})",
                self.answered == self.sessions,
            ),
            (
                f"connections of {self.workers} workers and a client while they work: {self.connections} "
                f"(goal {MOST_CONNECTIONS})",
                self.connections <= MOST_CONNECTIONS,
            ),
        ]


@contextmanager
def at_work(address: str, workers: int, folder: str) -> Iterator[None]:
    """Start workers, wait until they take sessions, and end them."""
    environment = {**os.environ, **PATHS, ADDRESS: address, "HOME": folder}
    command = [str(Path(sys.executable).parent / "bridle"), "worker", "--app", "bench.postgres.workers:looker"]
    running = [
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder)
        for _ in range(workers)
    ]
    try:
        for process in running:
            assert process.stderr is not None
            while not (line := process.stderr.readline()).startswith("bridle worker: takes"):
                if not line:
                    raise SystemExit("a worker has failed")
        yield
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.communicate()


async def ask(address: str, sessions: int) -> tuple[int, int, float]:
    """Start sessions for the workers; return how many were answered, the most connections, and the seconds."""
    asker = Agent(
        "looker",
        app="bench",
        model=model(STEPS),
        tools=[look],
        journal=address,
        settings=Settings(workers=WorkerSettings(drive=True)),
    )
    began = time.monotonic()
    async with asker, await psycopg.AsyncConnection.connect(address, autocommit=True) as watching:
        runs = asyncio.gather(*(asker.run("go") for _ in range(sessions)))
        most = 0
        async with asyncio.timeout(LONGEST_SECONDS):
            while not runs.done():
                row = await (await watching.execute(CONNECTIONS.encode())).fetchone()
                most = max(most, int(row[0]) if row is not None else 0)
                await asyncio.sleep(LOOK_SECONDS)
        results = await runs
    answered = sum(result.output.strip() == results[0].output.strip() != "" for result in results)
    return answered, most, time.monotonic() - began


def worked(server: Server, workers: int = WORKERS, sessions: int = SESSIONS) -> Working:
    """Let workers drive sessions, and count connections meanwhile."""
    with (
        server.database() as address,
        TemporaryDirectory(prefix="bridle-bench-") as folder,
        at_work(address, workers, folder),
    ):
        answered, most, seconds = asyncio.run(ask(address, sessions))
    return Working(workers, answered, sessions, most, seconds)
