"""Lets random persons live in the terminal application for some time: SECONDS=60 SEED=1 LIVES=0 scripts/keys."""

import asyncio
import os
import sys
import time
import traceback

from support.random_person import RandomPerson

ACTS = 300
LONGEST_SECONDS = 300


def main() -> int:
    """Live one life after the other; return 1 after a crash."""
    seed = int(os.environ.get("SEED") or time.time())
    seconds, most = float(os.environ.get("SECONDS") or 60), int(os.environ.get("LIVES") or 0)
    begun, lives = time.monotonic(), 0
    print(f"SEED={seed}", flush=True)
    while time.monotonic() - begun < seconds and not (most and lives == most):
        try:
            asyncio.run(asyncio.wait_for(RandomPerson(seed + lives).live(ACTS), LONGEST_SECONDS))
        except (AssertionError, TimeoutError) as error:
            traceback.print_exception(error)
            print(f"again: SEED={seed + lives} LIVES=1 scripts/keys", file=sys.stderr)
            return 1
        lives += 1
    print(f"{lives} lives with {ACTS} acts each in {time.monotonic() - begun:.0f} s: no crash", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
