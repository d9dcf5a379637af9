"""The same work for every contender: batches of runs of one agent, all runs of a batch at once.

A run is two requests to a model inside the process: the first is answered with a call of `add`, the second with "done".
The memory after a batch is read when its garbage has been collected. The start is what the process took until its first
run had ended, its interpreter and its imports included.
"""

import argparse
import asyncio
import gc
import json
import threading
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path

ANSWER = "done"
ARGUMENTS = {"a": 1, "b": 2}

Run = Callable[[], Awaitable[str]]


calls: list[str] = []


def add_up(a: int, b: int) -> str:
    calls.append(str(a + b))
    return calls[-1]


def memory_mb() -> float:
    gc.collect()
    return int(Path("/proc/self/status").read_text().partition("\nVmRSS:")[2].split()[0]) / 1024


async def most_threads(seen: list[int]) -> None:
    """Count threads again and again."""
    while True:
        seen.append(threading.active_count())
        await asyncio.sleep(0.02)


async def batch(run: Run, runs: int) -> dict[str, float]:
    """What a batch cost, and how many of its runs failed."""
    seen = [threading.active_count()]
    watch = asyncio.create_task(most_threads(seen))
    calls.clear()
    cpu = time.process_time()
    ended = await asyncio.gather(*(run() for _ in range(runs)), return_exceptions=True)
    cpu = time.process_time() - cpu
    watch.cancel()
    if len(calls) != runs:
        raise SystemExit(f"{len(calls)} calls in {runs} runs")
    failed = [each for each in ended if each != ANSWER]
    if failed:
        print(repr(failed[0]))
    return {"cpu": cpu, "failed": len(failed), "memory": memory_mb(), "threads": max(seen)}


async def work(run: Run, batches: int, runs: int) -> tuple[float, list[dict[str, float]]]:
    if await run() != ANSWER:
        raise SystemExit("the first run failed")
    return time.process_time(), [await batch(run, runs) for _ in range(batches)]


def measure(package: str, make: Callable[[Path], Run]) -> None:
    """Run the batches, and print what they cost as one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, required=True)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    given, _ = parser.parse_known_args()
    given.data.mkdir(parents=True, exist_ok=True)
    start, done = asyncio.run(work(make(given.data), given.batches, given.runs))
    print(json.dumps({"version": version(package), "start": start, "batches": done}))
