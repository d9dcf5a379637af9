"""What parked sessions take in the memory of the process that has driven them."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.contender import PATHS
from bench.postgres.server import Server
from bridle import Reply, Rule, Runtime, RuntimeConfig, ScriptedModel, TurnOptions, call, tool
from bridle.core.agent import AgentDefinition

SESSIONS = 1_000
WARM = 100
AT_ONCE = 50
MOST_MEGABYTES = 20.0
TEXT = "some words of an answer " * 10


@tool
async def act(key: str) -> str:
    """Do something that a person must allow."""
    return f"did {key}"


def memory_kb() -> int:
    gc.collect()
    return int(Path("/proc/self/status").read_text().partition("\nVmRSS:")[2].split()[0])


async def park(address: str, sessions: int) -> float:
    """Drive sessions until each waits for a person, and return the megabytes that this took."""
    asks = AgentDefinition("build", model="m", permission=(Rule("python", "*", "ask"),))
    model = ScriptedModel(lambda _: Reply(text=TEXT, calls=(call("act", key="one"),)))
    config = RuntimeConfig(journal=address, models={"m": model}, agents=[asks], tools=[act], directory=Path.cwd())
    async with Runtime(config) as runtime:

        async def one(places: asyncio.Semaphore) -> None:
            async with places:
                session = await runtime.create()
                prompt = await runtime.prompt(session, "go", options=TurnOptions(on_ask="pause"))
                result = await runtime.wait(session, prompt)
                if result.reason != "paused":
                    raise SystemExit(f"a session that should wait for a person has ended: {result.reason}")

        places = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(one(places) for _ in range(min(WARM, sessions))))
        before = memory_kb()
        await asyncio.gather(*(one(places) for _ in range(sessions)))
        return (memory_kb() - before) / 1024


def parked(server: Server, sessions: int = SESSIONS) -> float:
    """Return the megabytes that so many parked sessions take in a process."""
    command = [sys.executable, "-m", "bench.postgres.parked", "--sessions", str(sessions)]
    with server.database() as address, TemporaryDirectory(prefix="bridle-bench-") as folder:
        done = subprocess.run(
            [*command, address], stdout=subprocess.PIPE, text=True, env={**os.environ, **PATHS}, cwd=folder, check=True
        )
    return float(json.loads(done.stdout))


def parked_goal(sessions: int, megabytes: float) -> tuple[str, bool]:
    most = MOST_MEGABYTES * sessions / SESSIONS
    return f"memory of {sessions:,} parked sessions: {megabytes:.1f} MB (goal {most:g} MB)", megabytes <= most


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    given = parser.parse_args()
    print(json.dumps(asyncio.run(park(given.address, given.sessions))))


if __name__ == "__main__":
    main()
