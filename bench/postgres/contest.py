"""Sessions of Bridle and of its peers on one PostgreSQL server, interleaved: CPU of a step and steps a second."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any

from bench.contender import PATHS, RUN_SECONDS, Contender, row
from bench.postgres.server import Server

OURS = [
    Contender("Bridle, PostgreSQL", "bridle.sessions"),
    Contender("Bridle, SQLite", "bridle.sessions", ("--sqlite",)),
]
PEERS = [
    Contender(
        "langgraph, PostgreSQL saver",
        "langgraph.sessions",
        needs=("langchain", "langgraph", "langgraph-checkpoint-postgres", "psycopg[binary,pool]"),
    ),
    Contender("pydantic-ai on DBOS", "pydantic_ai.sessions", needs=("pydantic-ai-slim[dbos]", "dbos")),
]
MOST_OF_LANGGRAPH = 1 / 20


@dataclass(frozen=True)
class Shape:
    """How many sessions of how many steps, and how many of them at once."""

    at_once: int
    sessions: int
    steps: int


@dataclass
class Running:
    """A contender that works."""

    name: str
    process: subprocess.Popen[str]
    folder: tempfile.TemporaryDirectory[str]


@dataclass
class Result:
    """What a contender took in all rounds of a shape."""

    reports: list[dict[str, Any]] = field(default_factory=list)

    def of_a_step(self, *keys: str) -> float:
        """CPU milliseconds of a step: the lowest of all rounds, since what disturbs a run only adds to it."""
        return min(sum(float(report[key]) for key in keys) / float(report["steps"]) for report in self.reports) * 1000

    @property
    def steps_a_second(self) -> float:
        return max(float(report["steps"]) / float(report["seconds"]) for report in self.reports)


def start(contender: Contender, server: Server, address: str, *, steps: int, sessions: int, at_once: int) -> Running:
    """Begin the work of a contender in a process of its own."""
    folder = tempfile.TemporaryDirectory(prefix="bridle-bench-", ignore_cleanup_errors=True)
    numbers = ("--steps", str(steps), "--sessions", str(sessions), "--at-once", str(at_once))
    place = ("--database", address, "--server", str(server.process), "--data", f"{folder.name}/data")
    process = subprocess.Popen(
        [*contender.command, *contender.flags, *numbers, *place],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **PATHS},
    )
    return Running(contender.name, process, folder)


def finish(running: Running) -> dict[str, Any]:
    """Wait for the end of the work, and return its report."""
    with running.folder:
        try:
            out, problem = running.process.communicate(timeout=RUN_SECONDS)
        finally:
            running.process.kill()
    if running.process.returncode:
        raise SystemExit(f"{running.name} failed:\n{problem}")
    report: dict[str, Any] = json.loads(out.splitlines()[-1])
    return report


class Contest:
    """All contenders, with what each took in each shape."""

    def __init__(self, contenders: list[Contender], shapes: list[Shape]) -> None:
        self._contenders = contenders
        self._shapes = shapes
        self._results = {(each.name, shape): Result() for each in contenders for shape in shapes}

    def run(self, server: Server, rounds: int, peer_rounds: int) -> None:
        """Let all contenders work in turn, in an empty database each time; peers only in the first rounds."""
        for number in range(rounds):
            for shape in self._shapes:
                for contender in self._contenders:
                    if contender in PEERS and number >= peer_rounds:
                        continue
                    words = f"round {number + 1}/{rounds}, {shape.at_once} at once: {contender.name}"
                    print(words, file=sys.stderr, flush=True)
                    with server.database() as address:
                        given = {"steps": shape.steps, "sessions": shape.sessions, "at_once": shape.at_once}
                        report = finish(start(contender, server, address, **given))
                    self.result(contender.name, shape).reports.append(report)

    def result(self, name: str, shape: Shape) -> Result:
        return self._results[name, shape]

    def table(self) -> list[str]:
        head = ["at once", "steps a session", "contender", "version", "steps/s"]
        head += ["client CPU ms a step", "server CPU ms a step", "together", "of Bridle's"]
        lines = [row(head), row(["---:", "---:", "---", "---", *["---:"] * 5])]
        for shape in self._shapes:
            for contender in self._contenders:
                lines.append(self._line(contender, shape))
        return lines

    def _line(self, contender: Contender, shape: Shape) -> str:
        result, ours = self.result(contender.name, shape), self.result(OURS[0].name, shape)
        whole = result.of_a_step("client", "server")
        cells = [str(shape.at_once), str(shape.steps), contender.name, result.reports[0]["version"]]
        cells += [f"{result.steps_a_second:,.0f}", f"{result.of_a_step('client'):.2f}"]
        cells += [f"{result.of_a_step('server'):.2f}", f"{whole:.2f}"]
        return row([*cells, f"{whole / ours.of_a_step('client', 'server'):.1f}"])

    def goals(self) -> list[tuple[str, bool]]:
        """What is promised, and whether it was kept."""
        most = max(self._shapes, key=lambda shape: shape.at_once)
        ours, sqlite = (self.result(each.name, most) for each in OURS)
        share = ours.steps_a_second / sqlite.steps_a_second
        found = [(f"steps a second with {most.at_once} sessions, of SQLite's: {share:.2f} (goal 1)", share >= 1)]
        if PEERS[0] in self._contenders:
            for shape in self._shapes:
                whole = self.result(OURS[0].name, shape).of_a_step("client", "server")
                share = whole / self.result(PEERS[0].name, shape).of_a_step("client", "server")
                words = f"CPU of a step, {shape.at_once} at once, {shape.steps} steps a session, of langgraph's"
                found.append((f"{words}: {share:.3f} (goal {MOST_OF_LANGGRAPH})", share <= MOST_OF_LANGGRAPH))
        return found
