"""Worlds from seeds: many of them, each lived once with its own faults and once more cut at every point; or one alone.

A long run is done in pieces by processes of their own, and goes on where it was stopped. Anything that fails is shrunk
to the command that shows it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from sim.check import check_plan, check_seed
from sim.disks import ROOT
from sim.fresh import fresh_seeds
from sim.plan import make_plan
from sim.shrink import smallest, without
from sim.sweep import cutters, sweep


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/simulate", description=__doc__)
    parser.add_argument("--seed", type=int, help="one world alone")
    parser.add_argument(
        "--small", action="store_true", help="the small world of that seed, as it is cut at every point"
    )
    parser.add_argument("--cut", type=_numbers, help="where the lives of that world end: 7,3")
    parser.add_argument("--without", type=lambda text: text.split(","), default=[], help="what to leave out of it")
    parser.add_argument("--seeds", type=int, default=2_000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--piece", type=int, default=100, help="seeds that one process lives through")
    parser.add_argument("--progress", type=Path, default=Path(".simulation.json"), help="where a long run is noted")
    parser.add_argument("--write", type=Path, help="also write what came to pass, as Markdown")
    parser.add_argument("--worlds", action="store_true", help="do not cut them at every point as well")
    parser.add_argument("--first", action="store_true", help="here, in order, until one fails")
    parser.add_argument("--today", action="store_true", help="only name the seeds that the tests take today")
    parser.add_argument("--schedules", type=int, help="orders of events for a root and eight children under one budget")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    return [int(piece) for piece in text.split(",")]


def one(given: argparse.Namespace) -> int:
    """One world, with or without some of what is in it."""
    plan = without(make_plan(given.seed, small=given.small), given.without)
    problem, seen = check_plan(plan, None if given.cut is None else cutters(given.cut))
    for name, times in sorted(seen.items()):
        print(f"{times:6} {name}")
    print(problem or f"seed {given.seed}: every invariant holds")
    return bool(problem)


def in_order(given: argparse.Namespace) -> int:
    """World after world, until one fails; whoever started this may lose patience, and knows where it was."""
    for seed in range(given.start, given.start + given.seeds):
        print(f"begin {seed}", flush=True)
        problem, _ = check_seed(seed)
        if problem:
            print(f"\nseed {seed}: {problem}")
            return 1
    return 0


def piece(seeds: range, *, worlds: bool) -> tuple[list[str], Counter[str]]:
    """What fails in these worlds, each with the command that shows it, and what came to pass."""
    failures: list[str] = []
    seen: Counter[str] = Counter()
    for seed in seeds:
        problem, found = check_seed(seed)
        seen.update(found)
        if problem:
            failures.append(f"seed {seed}: {problem}\n  {smallest(seed)}")
        if not worlds:
            swept = sweep(seed)
            seen.update(swept.seen)
            if swept.problem:
                failures.append(f"seed {seed}: {swept.problem}\n  {smallest(seed, small=True, cuts=swept.cuts)}")
    return failures, seen


def schedules(given: argparse.Namespace) -> int:
    from support.shared_budgets import check_roomy, check_tight

    for seed in range(given.start, given.start + given.schedules):
        (check_tight if seed % 2 else check_roomy)(seed)
    print(f"{given.schedules} schedules, no budget overspent, nobody closed without need")
    return 0


def main() -> int:
    given = arguments()
    if given.today:
        seeds = fresh_seeds()
        print(f"Simulation seeds of today: {seeds[0]} to {seeds[-1]}")
        return 0
    if given.schedules:
        return schedules(given)
    if given.seed is not None:
        return one(given)
    if given.first:
        return in_order(given)
    from sim.long_run import long_run

    return long_run(given)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    shutil.rmtree(ROOT, ignore_errors=True)
    # The dead processes of every life are still in memory; nothing of theirs may run, not even their ends.
    os._exit(status)
