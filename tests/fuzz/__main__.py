"""Fuzz some targets, or all: SECONDS=30 SEED=1 scripts/fuzz TARGET…; `scripts/fuzz TARGET FILE` replays one input."""

import os
import sys
import time
from pathlib import Path

from support.paths import ROOT

sys.path.insert(0, str(Path(__file__).parent.parent))

from fuzz.campaign import campaign, keep, tried
from fuzz.targets import TARGETS


def replay(name: str, path: Path) -> int:
    failure = tried(TARGETS[name], path.read_bytes())
    print(failure.told if failure is not None else f"{name}: {path} is well")
    return int(failure is not None)


def fuzz(names: list[str], seconds: float, seed: int) -> int:
    failed = 0
    for name in names:
        target = TARGETS[name]
        print(f"{name}: {target.holds}", flush=True)
        outcome = campaign(target, seed, seconds=seconds)
        failed += len(outcome.failures)
        speed = outcome.tried / max(outcome.seconds, 0.001)
        print(f"  {outcome.tried} inputs, {speed:.0f} in a second, {len(outcome.failures)} failures", flush=True)
        for failure in outcome.failures:
            path = keep(target, failure)
            print(f"\n{failure.told}\n  {len(failure.data)} bytes: {failure.data[:300]!r}")
            print(f"  replay it: scripts/fuzz {name} {path.relative_to(ROOT)}\n", flush=True)
    return int(failed > 0)


def main(given: list[str]) -> int:
    if len(given) == 2 and given[0] in TARGETS and given[1] not in TARGETS:
        return replay(given[0], Path(given[1]))
    unknown = [name for name in given if name not in TARGETS]
    if unknown:
        print(f"there is no target {', '.join(unknown)}; there are: {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    seed = int(os.environ.get("SEED") or time.time())
    print(f"SEED={seed}")
    return fuzz(given or list(TARGETS), float(os.environ.get("SECONDS") or 30), seed)


sys.exit(main(sys.argv[1:]))
