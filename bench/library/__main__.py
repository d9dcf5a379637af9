"""Many runs of one agent at once: whether all of them end well, whether memory stays, and what a run costs."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench.contender import PATHS, RUN_SECONDS, Contender, installed, row

RUNS = 500
BATCHES = 10
ROUNDS = 3
MOST_GROWTH = 1.1
MOST_START_SECONDS = 0.25

OURS = [Contender("Bridle, no journal", "bridle.batch"), Contender("Bridle, SQLite", "bridle.batch", ("--sqlite",))]
PEER = Contender("pydantic-ai, memory", "pydantic_ai.batch")
"""Installed with the tools for development; every ratio is to its costs."""
PEERS = [
    Contender("openai-agents, memory", "openai_agents.batch", needs=("openai-agents",)),
    Contender("agno, memory", "agno.batch", needs=("agno",)),
]


def run(contender: Contender, batches: int, runs: int) -> None:
    """Let a contender do its batches in a process of its own, and keep its report."""
    with tempfile.TemporaryDirectory(prefix="bridle-bench-") as folder:
        command = [*contender.command, "--batches", str(batches), "--runs", str(runs), "--data", f"{folder}/data"]
        done = subprocess.run(
            [*command, *contender.flags],
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_SECONDS,
            env={**os.environ, **PATHS},
        )
    if done.returncode:
        raise SystemExit(f"{contender.name} failed:\n{done.stderr}")
    contender.reports.append(json.loads(done.stdout.splitlines()[-1]))


def run_seconds(contender: Contender, runs: int) -> float:
    """The CPU of a run in the best round: the median of its batches."""
    return min(median(batch["cpu"] for batch in report["batches"]) for report in contender.reports) / runs


def failures(contender: Contender) -> int:
    return sum(batch["failed"] for report in contender.reports for batch in report["batches"])


def growth(contender: Contender) -> float:
    """The memory after the last batch over that after the second, in the worst round."""
    return max(report["batches"][-1]["memory"] / report["batches"][1]["memory"] for report in contender.reports)


def line(contender: Contender, runs: int) -> str:
    batches = [batch for report in contender.reports for batch in report["batches"]]
    cost, start = run_seconds(contender, runs), contender.best("start")
    cells = [
        contender.name,
        contender.reports[0]["version"],
        str(failures(contender)),
        f"{cost * 1000:.2f}",
        f"{cost / run_seconds(PEER, runs):.2f}",
        f"{min(report['batches'][1]['memory'] for report in contender.reports):.0f}",
        f"{growth(contender):.2f}",
        f"{max(batch['threads'] for batch in batches):.0f}",
        f"{start:.2f}",
        f"{start / PEER.best('start'):.2f}",
    ]
    return row(cells)


def goals() -> list[tuple[str, bool]]:
    """What is promised, and whether it was kept."""
    wrong, most, start = sum(map(failures, OURS)), max(map(growth, OURS)), OURS[0].best("start")
    return [
        (f"failed runs: {wrong} (goal 0)", wrong == 0),
        (
            f"memory after the last batch over that after the second: {most:.2f} (goal {MOST_GROWTH})",
            most <= MOST_GROWTH,
        ),
        (f"CPU of import and first run: {start:.2f} s (goal {MOST_START_SECONDS} s)", start <= MOST_START_SECONDS),
    ]


def page(contenders: list[Contender], missing: list[str], given: argparse.Namespace) -> str:
    head = [
        "contender",
        "version",
        "failed",
        "CPU ms a run",
        "ratio",
        "MB",
        "growth",
        "threads",
        "start CPU s",
        "ratio",
    ]
    met = [f"- {'met' if kept else 'MISSED'}: {words}" for words, kept in goals()]
    lines = [
        "# Runs of one agent at once",
        "",
        f"Made by `bench/run library` on {datetime.now(UTC):%Y-%m-%d}: {platform.machine()}, {platform.system()}, "
        f"Python {platform.python_version()}.",
        f"{given.batches} batches of {given.runs} runs at once, of one agent. A run is two requests to a model",
        f"inside the process and one call of an asynchronous tool. CPU is the lowest of {given.rounds} rounds, MB is",
        "after the second batch, and growth is the memory after the last batch over that. The start is import and the",
        "first run. Ratios are to pydantic-ai.",
        "",
        row(head),
        row(["---", "---", *["---:"] * (len(head) - 2)]),
        *(line(contender, given.runs) for contender in contenders),
        "",
        *met,
        *missing,
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="runs at once")
    parser.add_argument("--batches", type=int, default=BATCHES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--without-peers", action="store_true", help="only Bridle and pydantic-ai")
    parser.add_argument("--write", type=Path, help="also write the page, as Markdown")
    given = parser.parse_args()
    found, missing = installed([] if given.without_peers else PEERS)
    contenders = [*OURS, PEER, *found]
    for _ in range(given.rounds):
        for contender in contenders:
            run(contender, given.batches, given.runs)
    text = page(contenders, missing, given)
    sys.stdout.write(text)
    if given.write is not None:
        given.write.write_text(text, encoding="utf-8")
    return 0 if all(kept for _, kept in goals()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
