"""A process with everything below it: what that costs, how much memory it has, and its end."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """One process at one moment; the ticks also of those that it has waited for."""

    number: int
    parent: int
    ticks: int
    pages: int


def tree(root: int) -> list[Process]:
    """A process and all below it, from the top down."""
    found: dict[int, Process] = {}
    children: defaultdict[int, list[int]] = defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            # It has ended meanwhile.
            continue
        number, parent = int(path.parent.name), int(fields[1])
        found[number] = Process(number, parent, sum(int(field) for field in fields[11:15]), int(fields[21]))
        children[parent].append(number)
    numbers = [root]
    for number in numbers:
        numbers += children[number]
    return [found[number] for number in numbers if number in found]


def cpu_seconds(root: int) -> float:
    """The CPU of a tree of processes so far."""
    return sum(process.ticks for process in tree(root)) / os.sysconf("SC_CLK_TCK")


def memory_mb(root: int) -> float:
    """The resident memory of a tree of processes now; what several share is counted for each."""
    return sum(process.pages for process in tree(root)) * os.sysconf("SC_PAGE_SIZE") / 2**20


def kill_tree(root: int) -> None:
    """Kill the leader of a group with that group and everything below it: some start commands in other groups."""
    for process in tree(root):
        with suppress(ProcessLookupError):
            os.kill(process.number, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.killpg(root, signal.SIGKILL)
