"""Replay one seed, or run many: scripts/simulate --seed 7, --seeds 100000; --schedules 10000 tries shared budgets."""

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from sim.check import check_seed

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int)
parser.add_argument("--seeds", type=int, default=2_000)
parser.add_argument("--start", type=int, default=0)
parser.add_argument("--schedules", type=int, help="orders of events for a root and eight children under one budget")
parser.add_argument("--first", action="store_true", help="stop at the first failure")
given = parser.parse_args()

if given.schedules:
    from test_shared_budgets import check_roomy, check_tight

    for seed in range(given.start, given.start + given.schedules):
        (check_tight if seed % 2 else check_roomy)(seed)
    print(f"{given.schedules} schedules, no budget overspent, nobody closed without need")
    sys.exit(0)

seeds = [given.seed] if given.seed is not None else range(given.start, given.start + given.seeds)
failures, endings = 0, Counter()
for number, seed in enumerate(seeds, 1):
    if given.first:
        print(f"begin {seed}", flush=True)
    problem, reasons = check_seed(seed)
    endings.update(reasons)
    if problem:
        failures += 1
        print(f"\nseed {seed}: {problem}\n  replay it: scripts/simulate --seed {seed}")
        if given.first:
            break
    if sys.stderr.isatty() and number % 20 == 0:
        sys.stderr.write(f"\r{number}/{len(seeds)} seeds, {failures} failures")
print(f"\n{len(seeds)} seeds, {failures} failures; endings: {dict(endings.most_common())}")
sys.stdout.flush()
# The dead processes of every life are still in memory; nothing of theirs may run, not even their ends.
os._exit(bool(failures))
