"""What each of those that keep a session on the disk has there, and has written, against the number of its steps."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.contender import Contender, report_of, row
from bench.costs.plots import Curve, curves

LENGTHS = (50, 100, 200, 400)
"""Besides the length of the comparison itself."""
FEW = 100
MOST_GROWTH = 1.3


class Bytes(NamedTuple):
    """Of one whole run, after everything was closed."""

    kept: int
    written: int


@dataclass(frozen=True)
class Growth:
    """The bytes of separate runs, from the shortest to the longest."""

    name: str
    runs: dict[int, Bytes]

    def a_step(self, measure: str) -> dict[int, float]:
        """The bytes for each step, by the length of the run."""
        return {steps: getattr(each, measure) / steps for steps, each in self.runs.items()}


def grown(contenders: list[Contender], steps: int) -> list[Growth]:
    """One run for each length, side by side, since bytes hardly depend on what else runs; the longest is done."""

    def grow(each: Contender) -> Growth:
        print(f"bytes against steps: {each.name}", file=sys.stderr, flush=True)
        reports = {length: report_of(each, length) for length in LENGTHS if length < steps}
        reports[steps] = each.reports[0]
        runs = {length: Bytes(one["bytes_kept"], one["bytes_written"]) for length, one in reports.items()}
        return Growth(each.name, runs)

    with ThreadPoolExecutor(os.cpu_count()) as several:
        return list(several.map(grow, contenders))


def measures(growths: list[Growth]) -> list[str]:
    """What can be told: a disk in memory is not written to."""
    written = all(run.written for each in growths for run in each.runs.values())
    return ["kept", "written"] if written else ["kept"]


def growth_table(growths: list[Growth]) -> list[str]:
    """The kB of each step, by the number of steps: what grows linearly has the same in every column."""
    lengths = list(growths[0].runs)
    lines = [row(["contender", "kB a step", *(f"{length:,} steps" for length in lengths)])]
    lines.append("| --- | --- " + "| ---: " * len(lengths) + "|")
    for each in growths:
        for measure in measures(growths):
            costs = each.a_step(measure).values()
            lines.append(row([each.name, measure, *(f"{cost / 1000:.2f}" for cost in costs)]))
    return lines


def growth_goals(ours: Growth) -> list[tuple[str, float, float]]:
    """Bytes grow as the steps do."""
    few, many = FEW if FEW in ours.runs else min(ours.runs), max(ours.runs)
    goals = []
    for measure in measures([ours]):
        costs = ours.a_step(measure)
        name = f"bytes {measure} for a step, of {many:,} steps to those of {few:,}"
        goals.append((name, costs[many] / costs[few], MOST_GROWTH))
    return goals


def draw_growth(growths: list[Growth], looks: dict[str, tuple[str, str, bool]], folder: Path) -> None:
    """Write a plot of each measure."""
    note = "One run for each length, after it was closed. What grows with the square of the steps is twice as steep."
    titles = {"kept": "Kept on the disk, against steps", "written": "Written to the disk, against steps"}
    for measure in measures(growths):
        rows = [
            Curve(*looks[each.name], [(steps, getattr(run, measure)) for steps, run in each.runs.items()])
            for each in growths
        ]
        plot = curves(titles[measure], note, rows, volume, "steps of the run")
        (folder / f"{measure}.svg").write_text(plot)


def volume(value: float) -> str:
    """Bytes, for people."""
    return f"{value / 1e3:g} kB" if value < 1e6 else f"{value / 1e6:g} MB" if value < 1e9 else f"{value / 1e9:g} GB"
