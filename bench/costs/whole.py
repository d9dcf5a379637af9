"""Whole commands over loopback HTTP: what they take to their first request, for a step, in memory and on the disk."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.contender import Contender
from bench.contenders.step_work import MARKS
from bench.processes import cpu_seconds, kill_tree, memory_mb
from bench.starts import Command
from bench.wire_server import READ_FILE, serve

RUN_SECONDS = 420.0
LINES = 2_000
WARM_STEPS = 15


@dataclass
class Watch:
    """What a command has taken at each of its requests."""

    home: Path
    cpu: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    begin_bytes: int = 0

    def look(self, process: int) -> None:
        """Note what it has taken until this request."""
        if not self.cpu:
            self.begin_bytes = size(self.home)
        self.cpu.append(cpu_seconds(process))
        self.memory.append(memory_mb(process))

    def report(self, version: str) -> dict[str, Any]:
        """The same as what is reported from inside a process; a curve is of means, since ticks are long."""
        steps = len(self.cpu) - 1
        marks = [mark for mark in MARKS if mark <= steps]
        curve = [
            (mark, round((self.cpu[mark] - self.cpu[before]) / (mark - before) * 1e6))
            for before, mark in pairwise([0, *marks])
        ]
        return {
            "version": version,
            "steps": steps,
            "median": round((self.cpu[-1] - self.cpu[0]) / max(1, steps) * 1e6),
            "first": curve[0][1] if curve else 0,
            "last": curve[-1][1] if curve else 0,
            "cpu_seconds": round(self.cpu[-1] - self.cpu[0], 3),
            "start_cpu": self.cpu[0],
            "start_mb": round(self.memory[0]),
            "rss_mb": round(max(self.memory)),
            "bytes_kept": size(self.home) - self.begin_bytes,
            "curve": curve,
        }


def size(home: Path) -> int:
    """What is kept in a home, without caches; files may go away while they are counted."""
    total = 0
    for folder, _, names in os.walk(home / ".local"):
        for name in names:
            if not name.endswith(".reserve"):
                try:
                    total += os.lstat(f"{folder}/{name}").st_size
                except FileNotFoundError:
                    continue
    return total


async def watched(command: Command, steps: int, home: Path) -> dict[str, Any]:
    """Run a command for so many steps; raises `TimeoutError` if it does not come to its end."""
    watch, process = Watch(home), None

    def arrived() -> None:
        if process is not None and len(watch.cpu) <= steps:
            watch.look(process.pid)

    server, port = await serve(arrived)
    address = f"http://127.0.0.1:{port}/reads/{steps}/together/v1"
    command.configure(home, address)
    (home / "project" / READ_FILE).write_text("".join(f"{line} ".ljust(100, ".") + "\n" for line in range(LINES)))
    process = await asyncio.create_subprocess_exec(
        *command.words(address),
        cwd=home / "project",
        env={"PATH": os.environ["PATH"], "HOME": str(home), **command.environment},
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await asyncio.wait_for(process.wait(), RUN_SECONDS)
    finally:
        if process.returncode is None:
            kill_tree(process.pid)
            await process.wait()
        server.close()
    return watch.report(command.version())


def home_for(command: Command, steps: int, folder: Path) -> Path:
    """A home that the command has used; raises `TimeoutError` if it did not come to its end."""
    (folder / "project").mkdir()
    # The first time, OpenCode installs packages beside its work.
    asyncio.run(watched(command, min(steps, WARM_STEPS), folder))
    return folder


def measured(wanted: list[tuple[Command, int]], rounds: int) -> tuple[list[Contender], list[str]]:
    """Commands with their steps, in turn, each in a home of its own; then a line for each that did not come to its end.

    Each takes its part in every round, so that what disturbs the machine for a while disturbs all of them.
    """
    missing, made = [], {command.name: Contender(command.name, "") for command, _ in wanted}
    homes: dict[str, Path] = {}
    with ExitStack() as stack:
        for number in range(rounds):
            for command, steps in [each for each in wanted if each[0].name in made]:
                print(f"round {number + 1}/{rounds}: {command.name}", file=sys.stderr, flush=True)
                try:
                    if command.name not in homes:
                        folder = tempfile.TemporaryDirectory(prefix="bridle-bench-", ignore_cleanup_errors=True)
                        homes[command.name] = home_for(command, steps, Path(stack.enter_context(folder)))
                    made[command.name].reports.append(asyncio.run(watched(command, steps, homes[command.name])))
                except TimeoutError:
                    missing.append(f"- {command.name} did not come to its end")
                    del made[command.name]
    return list(made.values()), missing
