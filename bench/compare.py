"""Bridle, the bare floor and the peers, interleaved in one run: a table of costs and of ratios."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CONTENDERS = Path(__file__).parent / "contenders"
HOMES = ROOT / ".bench"
SHORT_SECONDS = 3.0
UV = ROOT / ".uv" / "bin" / "uv"


@dataclass
class Contender:
    """Something that does the work, in an environment of its own."""

    name: str
    script: str
    flags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    durable: bool = False
    reports: list[dict[str, Any]] = field(default_factory=list)

    @property
    def python(self) -> Path:
        return Path(sys.executable) if not self.needs else HOMES / self.script / "bin" / "python"

    def best(self, key: str) -> float:
        """The lowest of all rounds: what disturbs a run only ever adds to it."""
        return min(report[key] for report in self.reports)


OURS = [
    Contender("bare asyncio loop", "with_bare"),
    Contender("Bridle, memory", "with_bridle", ("--mode", "memory")),
    Contender("Bridle, memory, capped", "with_bridle", ("--mode", "memory", "--capped")),
    Contender("Bridle, SQLite, process", "with_bridle", ("--mode", "process"), durable=True),
    Contender("Bridle, SQLite, power (default)", "with_bridle", ("--mode", "power"), durable=True),
]
PEERS = [
    Contender("agno, memory", "with_agno", needs=("agno",)),
    Contender("pydantic-ai, memory", "with_pydantic_ai", needs=("pydantic-ai-slim",)),
    Contender(
        "langgraph, SQLite saver",
        "with_langgraph",
        needs=("langchain", "langgraph", "langgraph-checkpoint-sqlite"),
        durable=True,
    ),
    Contender("openai-agents, SQLite session", "with_openai_agents", needs=("openai-agents",), durable=True),
]


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


def run(contender: Contender, steps: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bridle-bench-") as folder:
        script = CONTENDERS / f"{contender.script}.py"
        command = [contender.python, script, "--steps", str(steps), "--data", f"{folder}/data", *contender.flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        raise SystemExit(f"{contender.name} failed:\n{done.stderr}")
    contender.reports.append(json.loads(done.stdout.splitlines()[-1]))


def table(contenders: list[Contender], unit: Contender) -> list[str]:
    """Rows of what each costs, and how often the unit's cost that is."""
    lines = [
        "| contender | version | CPU µs | first 40 | last 40 | last/first | of Bridle's | MB kept | written | RSS |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for each in contenders:
        median, first, last = each.best("median"), each.best("first"), each.best("last")
        ratio = median / unit.best("median")
        cells = [
            each.name,
            each.reports[0]["version"] or "-",
            f"{median:.0f}",
            f"{first:.0f}",
            f"{last:.0f}",
            f"{last / first:.2f}",
            f"{ratio:.2f}",
            f"{each.best('bytes_kept') / 1e6:.2f}",
            f"{each.best('bytes_written') / 1e6:.1f}",
            f"{each.best('rss_mb'):.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


AGNO_MICROSECONDS = 200.0


def verdicts(found: dict[str, Contender], steps: int) -> list[str]:
    """The goals of the project, each with what was measured."""
    memory, capped = found["Bridle, memory"], found["Bridle, memory, capped"]
    process, power = found["Bridle, SQLite, process"], found["Bridle, SQLite, power (default)"]
    goals = [
        ("CPU a step at most 0.3 ms with durability process", process.best("median") / 1000, 0.3),
        ("CPU a step at most 0.6 ms with the default", power.best("median") / 1000, 0.6),
        ("last 40 steps within 1.3 times the first 40", power.best("last") / power.best("first"), 1.3),
        ("a capped turn at most 1.05 times an uncapped one", capped.best("median") / memory.best("median"), 1.05),
        ("MB kept, for a thousand steps", power.best("bytes_kept") / 1e6 * 1000 / steps, 3.0),
        ("MB written, for a thousand steps", power.best("bytes_written") / 1e6 * 1000 / steps, 30.0),
    ]
    if "agno, memory" in found:
        agno = found["agno, memory"].best("median")
        goals.append(("in memory no more than agno", memory.best("median") / agno, 1.0))
    for peer in found.values():
        if peer.durable and peer.needs:
            share = power.best("cpu_seconds") / peer.best("cpu_seconds")
            goals.append((f"a tenth of the CPU of {peer.name}", share, 0.1))
    lines = [f"- {'met' if is_ <= goal else 'MISSED'}: {name}: {is_:.3g} (goal {goal:g})" for name, is_, goal in goals]
    if "agno, memory" in found:
        here = found["agno, memory"].best("median") / AGNO_MICROSECONDS
        both = ", ".join(f"{each.best('median') / 1000 / here:.3g}" for each in (process, power))
        lines.append(
            f"\nThe goals in milliseconds were set where a step of agno takes {AGNO_MICROSECONDS:g} µs; "
            f"here it takes {here:.2f} times that. At that machine's speed a step takes {both} ms (process, default)."
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--again", type=int, default=10, help="how often a short run is done in each round")
    parser.add_argument("--without-peers", action="store_true", help="only the bare floor and Bridle")
    parser.add_argument("--write", type=Path, help="also write the page, as Markdown")
    given = parser.parse_args()
    contenders, missing = list(OURS), []
    for peer in [] if given.without_peers else PEERS:
        problem = prepare(peer)
        if problem:
            missing.append(f"- {peer.name} could not be installed: {problem}")
        else:
            contenders.append(peer)
    for number in range(given.rounds):
        for contender in contenders:
            print(f"round {number + 1}/{given.rounds}: {contender.name}", file=sys.stderr, flush=True)
            run(contender, given.steps)
            # A short run is easily disturbed, and cheap to do again.
            while contender.reports[-1]["cpu_seconds"] < SHORT_SECONDS and len(contender.reports) < given.again * (
                number + 1
            ):
                run(contender, given.steps)
    found = {contender.name: contender for contender in contenders}
    machine = f"{platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    page = [
        "# Benchmarks",
        "",
        f"Made by `bench/run` on {datetime.now(UTC):%Y-%m-%d}: {machine}.",
        f"{given.steps} steps, the best of {given.rounds} rounds; short runs are done {given.again} times in each.",
        "What is compared is one step's overhead: the model answers at once, inside the process.",
        "",
        *table(contenders, found["Bridle, SQLite, power (default)"]),
        "",
        "## Goals",
        "",
        *verdicts(found, given.steps),
        *missing,
        "",
    ]
    print("\n".join(page))
    if given.write is not None:
        given.write.write_text("\n".join(page))


if __name__ == "__main__":
    main()
