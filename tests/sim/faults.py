"""Faults planted into Bridle one at a time: a simulation that does not see them proves nothing.

Run `scripts/faults` to plant each into a copy of the source, look for the first seed that shows it, and write the table
in docs/evidence/simulation-faults.md. The tests replay that seed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.paths import ROOT
from support.readable import readable

from sim.planted import FAULTS, Fault
from sim.server_plan import SERVED

TABLE = ROOT / "docs" / "evidence" / "simulation-faults.md"
SEEDS = 2_000
"""Worlds that are tried for each."""
PATIENCE_SECONDS = 10
"""For one world, which takes some 50 ms."""


def plant(fault: Fault, into: Path) -> None:
    """The source with one fault in it, the rest as links; fails if the words to break are not there exactly once."""
    source, copy = ROOT / "src" / "bridle", into / "bridle"
    broken = Path(fault.file)
    for folder in reversed(broken.parents):
        (copy / folder).mkdir()
        for each in (source / folder).iterdir():
            if not broken.is_relative_to(each.relative_to(source)):
                (copy / folder / each.name).symlink_to(each)
    text = (source / broken).read_text()
    assert text.count(fault.old) == 1, f"{fault.name}: found {text.count(fault.old)} times in {fault.file}"
    (copy / broken).write_text(text.replace(fault.old, fault.new))


def caught(fault: Fault, seeds: range) -> tuple[int, str] | None:
    """The first of these seeds that shows the fault, and the invariant that it breaks."""
    with tempfile.TemporaryDirectory() as folder:
        plant(fault, Path(folder))
        environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "sim", "--start", str(seeds.start), "--seeds", str(len(seeds)), "--first"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as worlds:
            try:
                return _shown(worlds)
            finally:
                worlds.kill()


def _shown(worlds: subprocess.Popen[str]) -> tuple[int, str] | None:
    """What the worlds tell; one that never comes to its end is as wrong as any."""
    assert worlds.stdout is not None
    seed = 0
    while readable(worlds.stdout, PATIENCE_SECONDS):
        line = os.read(worlds.stdout.fileno(), 65_536).decode()
        if not line:
            return None
        if begun := re.findall(r"^begin (\d+)$", line, re.MULTILINE):
            seed = int(begun[-1])
        if found := re.search(r"^seed (\d+): (.*)$", line, re.MULTILINE):
            return int(found[1]), found[2].split(":")[0]
    return seed, "terminates"


def read_table() -> dict[str, int]:
    """The seed that shows each fault, from the table."""
    rows = re.findall(r"^\| (.+?) \| `.+?` \| (\d+) \|", TABLE.read_text(), re.MULTILINE)
    return {name: int(seed) for name, seed in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="a piece of the name of a fault; the table is not written then")
    given = parser.parse_args()
    faults = [fault for fault in FAULTS if not given.only or given.only in fault.name]
    lines, missed = [], 0
    known = read_table()
    with ThreadPoolExecutor(2) as pool:
        for fault, seen in zip(faults, pool.map(lambda fault: looked_for(fault, known), faults), strict=True):
            seed, invariant = seen or ("", "**not caught**")
            missed += seen is None
            lines.append(f"| {fault.name} | `{fault.file}` | {seed} | {invariant} |")
            print(lines[-1], flush=True)
    print(f"{len(faults) - missed} of {len(faults)} caught within {SEEDS} seeds")
    if not given.only:
        counts = {"caught": len(faults) - missed, "all": len(faults), "served": sum(fault.served for fault in faults)}
        TABLE.write_text(HEAD.format(**counts))
        with TABLE.open("a") as file:
            file.write("\n".join(lines) + "\n")
    return bool(missed)


def looked_for(fault: Fault, known: dict[str, int]) -> tuple[int, str] | None:
    """A seed that shows it: the one of the table if that still does."""
    before = known.get(fault.name)
    first = SERVED if fault.served else 0
    return (before is not None and caught(fault, range(before, before + 1))) or caught(
        fault, range(first, first + SEEDS)
    )


HEAD = """# Planted faults

`scripts/faults` plants each of these faults into a copy of the source and runs one world after the other. It notes
a seed that exposes the fault, and the invariant that breaks: {caught} of {all} are caught. CI plants each fault again
and replays its seed. If a seed no longer exposes its fault with another Python or SQLite, CI looks for another seed.
Seeds from 1,000,000,000 on are worlds of several workers on a model of a PostgreSQL server; {served} faults are theirs.

| fault | in | seed | breaks |
| --- | --- | --- | --- |
"""

if __name__ == "__main__":
    sys.exit(main())
