"""Who is measured or compared: each in an environment of its own, which is made when it is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parent.parent
CONTENDERS = Path(__file__).parent / "contenders"
HOMES = ROOT / ".bench"
PATHS = {"PYTHONPATH": str(ROOT)}
"""With these, a contender in any environment finds `bench.contenders`."""
UV = ROOT / ".uv" / "bin" / "uv"
RUN_SECONDS = 900


@dataclass
class Contender:
    """Something that does the work, in an environment of its own."""

    name: str
    script: str
    """The peer and its work, as `agno.step` for contenders/agno/step.py."""
    flags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    durable: bool = False
    reports: list[dict[str, Any]] = field(default_factory=list)
    shorter: list[dict[str, Any]] = field(default_factory=list)
    """Reports of runs of fewer steps, where they are wanted."""

    @property
    def command(self) -> list[str | Path]:
        """What starts it; it finds what contenders share by `PATHS`."""
        kind, _, work = self.script.rpartition(".")
        return [self.python, CONTENDERS / kind / f"{work}.py"]

    @property
    def python(self) -> Path:
        return Path(sys.executable) if not self.needs else HOMES / self.script / "bin" / "python"

    def best(self, key: str) -> float:
        """The lowest of all rounds: what disturbs a run only ever adds to it."""
        return min(report[key] for report in self.reports)

    def whole(self, *, shorter: bool = False) -> float:
        """The CPU of a whole run, with what is done after the last request: the lowest of all rounds."""
        return min(report["cpu_seconds"] for report in (self.shorter if shorter else self.reports))

    def curve(self) -> list[tuple[int, float]]:
        """What a step costs at each length of the history: again the lowest of all rounds."""
        lowest: dict[int, float] = {}
        for mark, cost in (point for report in self.reports for point in report["curve"]):
            lowest[mark] = min(cost, lowest.get(mark, cost))
        return sorted(lowest.items())


Peer = TypeVar("Peer", bound=Contender)


def prepare(contender: Contender) -> str:
    """Make the contender's environment; returns why that failed, or nothing."""
    if contender.python.exists():
        return ""
    home = HOMES / contender.script
    install = [
        UV,
        "pip",
        "install",
        "--system-certs",
        "--quiet",
        "--compile-bytecode",
        "--python",
        home,
        *contender.needs,
    ]
    for command in ([UV, "venv", "--quiet", "--python", sys.executable, home], install):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1]
    return ""


def installed(peers: Sequence[Peer]) -> tuple[list[Peer], list[str]]:
    """Those whose environments are there or could be made, and a line for each other."""
    problems = [(peer, prepare(peer)) for peer in peers]
    missing = [f"- {peer.name} could not be installed: {problem}" for peer, problem in problems if problem]
    return [peer for peer, problem in problems if not problem], missing


def report_of(contender: Contender, steps: int) -> dict[str, Any]:
    """Let a contender do its work inside a process of its own, and see what that took."""
    with tempfile.TemporaryDirectory(prefix="bridle-bench-") as folder:
        command = [*contender.command, "--steps", str(steps), "--data", f"{folder}/data", *contender.flags]
        environment = {**os.environ, **PATHS}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=RUN_SECONDS, env=environment
        )
    if done.returncode:
        raise SystemExit(f"{contender.name} failed:\n{done.stderr}")
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def row(cells: Sequence[str]) -> str:
    """A row of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"
