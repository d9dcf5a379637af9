"""What a server costs before it does anything: the CPU until it answers, and the memory and CPU of an idle one."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.server.served import Served

MOST_START_SECONDS = 0.4
MOST_MEGABYTES = 60.0
MOST_IDLE_PERCENT = 0.1
SETTLING_SECONDS = 3.0


class Cost(NamedTuple):
    """What one server used; or the smallest values of several."""

    start_cpu_seconds: float
    idle_percent: float
    megabytes: float


def measured(folder: Path, idle_seconds: float) -> Cost:
    """Start a server, ask for its health, and leave it alone for a while."""
    served = Served(folder)
    try:
        with urllib.request.urlopen(f"{served.url}/health") as answer:
            answer.read()
        start = served.cpu_seconds
        time.sleep(SETTLING_SECONDS)
        before, began = served.cpu_seconds, time.monotonic()
        time.sleep(idle_seconds)
        idle = (served.cpu_seconds - before) / (time.monotonic() - began) * 100
        return Cost(round(start, 3), round(idle, 3), round(served.megabytes, 1))
    finally:
        served.close()


def costs(rounds: int, idle_seconds: float) -> list[Cost]:
    """Return what servers cost that were started one after the other."""
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="bridle-bench-") as folder:
            found.append(measured(Path(folder) / "home", idle_seconds))
    return found


def best(found: Sequence[Cost]) -> Cost:
    """Return the smallest value of each kind: other programs make a server slower, and never faster."""
    return Cost(*map(min, zip(*found, strict=True)))


def main(words: list[str]) -> int:
    """Print the smallest of several starts as JSON; exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="bench/run server start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle", type=float, default=20.0, help="seconds to look at an idle server")
    given = parser.parse_args(words)
    found = costs(given.rounds, given.idle)
    smallest = best(found)
    print(json.dumps({"best": smallest._asdict(), "rounds": [each._asdict() for each in found]}))
    goals = Cost(MOST_START_SECONDS, MOST_IDLE_PERCENT, MOST_MEGABYTES)
    return 0 if all(value <= goal for value, goal in zip(smallest, goals, strict=True)) else 1
