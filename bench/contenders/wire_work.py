"""The same work for every contender over HTTP: one turn, of many steps or with one long reply.

The CPU of a step is the process time from one call of the tool to the next, as the mean of the last twenty steps, in
the best of several turns; the CPU of a long reply is the process time of the whole turn, in the best of several, after
a short one that loads everything. Whoever watches is handed all the words of a long reply.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path

WINDOW = 20
PIECE_CHARACTERS = 12
WARM = 20

calls: list[float] = []
handed: list[str] = []


def add_up(a: int, b: int) -> str:
    """The tool of every contender; its results differ from step to step."""
    calls.append(time.process_time())
    return str(a + b).ljust(100, ".")


def hand(text: str) -> None:
    """What somebody who watches does with each piece of text that comes."""
    handed.append(text)


def flag(name: str, default: str = "") -> str:
    """What a contender is told besides its work."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def measure(package: str, converse: Callable[[str, Path], Awaitable[str]], *, watched: bool = True) -> None:
    """Run the work, check that it was all done, and print what it cost as one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--work", choices=["steps", "text"], required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--shape", choices=["together", "apart"], required=True)
    parser.add_argument("--again", type=int, default=1)
    parser.add_argument("--data", type=Path, required=True)
    given, _ = parser.parse_known_args()

    def run(count: int, folder: str) -> str:
        home = given.data / folder
        home.mkdir(parents=True)
        return asyncio.run(converse(f"{given.server}/{given.work}/{count}/{given.shape}/v1", home))

    costs = []
    if given.work == "text":
        run(WARM, "warm")
    for turn in range(given.again):
        calls.clear()
        handed.clear()
        begin = time.process_time()
        answer = run(given.count, f"measured {turn}")
        whole = time.process_time() - begin
        if given.work == "steps":
            costs.append((calls[-1] - calls[-1 - WINDOW]) / WINDOW)
            done = answer == "done" and len(calls) == given.count
        else:
            costs.append(whole)
            done = len(answer) == given.count * PIECE_CHARACTERS and "".join(handed) == (answer if watched else "")
        if not done:
            raise SystemExit(f"{answer[:200]!r} of {len(answer)} characters after {len(calls)} calls")
    print(json.dumps({"version": version(package), "cpu_seconds": min(costs)}))
