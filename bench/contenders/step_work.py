"""The same work for every contender: n steps of one call each, asked for by a model inside the process.

Each reply carries 200 characters of text and a call of `add`; each result has 100 characters. A thousand steps make a
conversation of about 323 kB. The CPU of a step is the process time from one request to the next; that of the start is
what the process took until its first request, its interpreter and its imports included.
"""

import argparse
import json
import time
from collections.abc import Callable
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from statistics import median

TEXT = "I add the next pair of numbers now. ".ljust(200, "-")
EDGE = 40
MARKS = (25, 50, 100, 200, 300, 400, 600, 800, 1_000)
"""After how many steps it is looked at what a step costs."""

requests: list[float] = []
results: list[str] = []
first_memory_mb: list[float] = []


def begin_request() -> int:
    """Note that the model was asked, and say for which time."""
    requests.append(time.process_time())
    if len(requests) == 1:
        first_memory_mb.append(_proc("status", "VmRSS") / 1024)
    return len(requests)


def _size(path: Path) -> int:
    """What is on the disk, without what Bridle holds in reserve for a full one."""
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file() and each.suffix != ".reserve")


def _curve(costs: list[float]) -> list[tuple[int, float]]:
    """What a step costs from one mark to the next."""
    marks = [mark for mark in MARKS if mark <= len(costs)]
    return [(mark, round(median(costs[before:mark]), 1)) for before, mark in pairwise([0, *marks])]


def arguments_of(number: int) -> dict[str, int]:
    return {"a": number, "b": 1}


def add_up(a: int, b: int) -> str:
    results.append(str(a + b).ljust(100, "."))
    return results[-1]


def _proc(file: str, key: str) -> int:
    return int(Path("/proc/self", file).read_text().partition(f"\n{key}:")[2].split()[0])


def measure(package: str, converse: Callable[[int, Path], str]) -> None:
    """Run the work, check that it was all done, and print what it cost as one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--data", type=Path, required=True)
    given, _ = parser.parse_known_args()
    given.data.mkdir(parents=True, exist_ok=True)
    if any(given.data.iterdir()):
        parser.error("--data must be empty, else an earlier conversation would be measured too")
    cpu, written = time.process_time(), _proc("io", "write_bytes")
    answer = converse(given.steps, given.data)
    cpu, written = time.process_time() - cpu, _proc("io", "write_bytes") - written
    if (answer, len(requests), len(results)) != ("done", given.steps + 1, given.steps):
        raise SystemExit(f"{answer!r} after {len(requests)} requests and {len(results)} calls")
    costs = [(after - before) * 1e6 for before, after in pairwise(requests)]
    report = {
        "version": version(package) if package else "",
        "first": round(median(costs[:EDGE]), 1),
        "last": round(median(costs[-EDGE:]), 1),
        "median": round(median(costs), 1),
        "cpu_seconds": round(cpu, 3),
        # Not ru_maxrss: that starts from the peak of the process which started this one.
        "rss_mb": round(_proc("status", "VmHWM") / 1024),
        "start_cpu": round(requests[0], 3),
        "start_mb": round(first_memory_mb[0]),
        "bytes_kept": _size(given.data),
        "bytes_written": written,
        "curve": _curve(costs),
    }
    print(json.dumps(report))
