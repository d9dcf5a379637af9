"""Contenders over loopback HTTP, and what one of them costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.contender import PATHS, Contender

SERVER = Path(__file__).parent.parent / "wire_server.py"
SHAPES = ("together", "apart")
RUN_SECONDS = 600


@dataclass
class Wired(Contender):
    """A contender over HTTP; a report has the CPU seconds of each of its works in each shape."""

    works: tuple[str, ...] = ("steps", "text")


BARE = "bare httpx2, lines"
WATCHED = "Bridle, SQLite (default), watched"
OURS = [
    Wired(BARE, "bare.wire"),
    Wired("bare httpx2, its EventSource", "bare.wire", ("--reader", "events"), works=("text",)),
    Wired("Bridle's adapter alone", "bridle.wire", ("--mode", "adapter"), works=("text",)),
    Wired("Bridle, memory", "bridle.wire", ("--mode", "memory")),
    Wired("Bridle, memory, watched", "bridle.wire", ("--mode", "memory", "--watched")),
    Wired("Bridle, SQLite (default)", "bridle.wire", ("--mode", "sqlite")),
    Wired(WATCHED, "bridle.wire", ("--mode", "sqlite", "--watched"), works=("text",)),
]
PEERS = [
    Wired("pydantic-ai, memory", "pydantic_ai.wire", needs=("pydantic-ai-slim[openai]",)),
    Wired("openai-agents, memory", "openai_agents.wire", needs=("openai-agents",)),
    Wired("agno, memory", "agno.wire", needs=("agno", "openai")),
    Wired("langgraph, memory", "langgraph.wire", needs=("langchain", "langgraph", "langchain-openai")),
]


@dataclass(frozen=True)
class Bench:
    """One run: how much of each work, where the server is and which bodies the bare client sends again."""

    counts: dict[str, int]
    server: str
    bodies: Path
    again: int
    """How many turns a cheap contender makes in one round, of which the best counts."""

    def cost(self, contender: Wired, work: str, shape: str, *flags: str) -> tuple[str, float]:
        """The version that did one work in a process of its own, and the CPU seconds of it."""
        with tempfile.TemporaryDirectory(prefix="bridle-bench-") as folder:
            command = [*contender.command, "--data", folder, *contender.flags, *flags]
            command += ["--server", self.server, "--work", work, "--count", str(self.counts[work]), "--shape", shape]
            command += ["--again", str(1 if contender.needs or "--record" in flags else self.again)]
            environment = {**os.environ, **PATHS}
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=RUN_SECONDS, env=environment
            )
        if done.returncode:
            raise SystemExit(f"{contender.name} failed:\n{done.stderr}")
        report = json.loads(done.stdout.splitlines()[-1])
        return report["version"], report["cpu_seconds"]

    def record(self) -> None:
        """Keep the bodies of Bridle's requests."""
        self.cost(Wired("Bridle, recorded", "bridle.wire"), "steps", "together", "--record", str(self.bodies))

    def run(self, contender: Wired) -> None:
        """One round of a contender."""
        report: dict[str, object] = {}
        for work in contender.works:
            for shape in SHAPES:
                replays = contender.script == "bare.wire" and work == "steps"
                flags = ("--bodies", str(self.bodies)) if replays else ()
                report["version"], report[f"{work} {shape}"] = self.cost(contender, work, shape, *flags)
        contender.reports.append(report)


@contextmanager
def serving() -> Iterator[str]:
    """A server in a process of its own; gives its address."""
    with subprocess.Popen([sys.executable, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.stdin.close()
