"""The benchmark's short form: it runs, and what can be counted without a clock holds."""

import json
import subprocess
import sys
from pathlib import Path

CONTENDER = Path(__file__).parent.parent / "bench" / "contenders" / "with_bridle.py"


def report(steps, data, *flags):
    command = [sys.executable, CONTENDER, "--steps", str(steps), "--data", data, *flags]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_bytes_on_disk_are_few_and_grow_linearly_with_the_steps(tmp_path):
    short = report(250, tmp_path / "short", "--mode", "power")
    long = report(1_000, tmp_path / "long", "--mode", "power")
    assert long["bytes_kept"] <= 3_000_000
    assert long["bytes_kept"] <= 4.4 * short["bytes_kept"]
    if long["bytes_written"]:
        assert long["bytes_written"] <= 30_000_000
        assert long["bytes_written"] <= 4.4 * short["bytes_written"]


def test_the_comparison_prints_its_table_and_its_goals():
    compare = CONTENDER.parent.parent / "compare.py"
    command = [sys.executable, compare, "--steps", "60", "--rounds", "1", "--without-peers", "--again", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "| Bridle, SQLite, power (default) | 0.1.0 |" in done.stdout
    assert done.stdout.count("(goal ") == 6
