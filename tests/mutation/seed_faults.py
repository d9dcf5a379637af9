"""Faults planted into the source one at a time, each against a row of docs/evidence/requirements.md and its test.

`scripts/seeds` plants each fault into a copy of the source, runs the named test against that copy, and writes
docs/evidence/requirement-faults.md. It exits with 1 if one is missed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from support.data import load
from support.paths import ROOT

PAGE = ROOT / "docs" / "evidence" / "requirement-faults.md"
PATIENCE_SECONDS = 60
ASSERTED = re.compile(r"^E\s+(assert\b|AssertionError|Failed: DID NOT RAISE)", re.MULTILINE)


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which row is broken, where, and how: `before` occurs exactly once in the file. The test must then fail."""

    row: str
    path: str
    before: str
    after: str
    test: str


class Faults(msgspec.Struct, forbid_unknown_fields=True):
    """The file of faults."""

    fault: list[Fault]


FAULTS = load("seed_faults.toml", Faults).fault


def plant(fault: Fault | None, into: Path) -> None:
    """A copy of the source with one fault in it, or with none."""
    shutil.copytree(ROOT / "src", into / "src", ignore=shutil.ignore_patterns("__pycache__"))
    if fault is not None:
        path = into / fault.path
        text = path.read_text(encoding="utf-8")
        assert text.count(fault.before) == 1, f"{fault.row}: found {text.count(fault.before)} times in {fault.path}"
        path.write_text(text.replace(fault.before, fault.after), encoding="utf-8")


def environment(folder: Path) -> dict[str, str]:
    """What makes Python, and every command that a test starts, import the copy instead of what is installed."""
    return {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}


def imports_the_copy(folder: Path) -> bool:
    """Whether the copy is what `import bridle` finds."""
    command = [sys.executable, "-c", "import bridle; print(bridle.__file__)"]
    found = subprocess.run(command, env=environment(folder), capture_output=True, text=True, check=True).stdout
    return Path(found.strip()).is_relative_to(folder)


def run(folder: Path, test: str) -> subprocess.CompletedProcess[str] | None:
    """The test against the copy; None if it came to no end."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    try:
        return subprocess.run(
            command,
            cwd=ROOT,
            env=environment(folder),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return None


def caught(fault: Fault) -> bool:
    """Whether the test fails, and by an assertion: a file that cannot be imported proves nothing."""
    with tempfile.TemporaryDirectory() as name:
        plant(fault, Path(name))
        done = run(Path(name), fault.test)
    return done is not None and done.returncode == 1 and ASSERTED.search(done.stdout) is not None


def failing_unbroken() -> list[str]:
    """The named tests that fail without any fault, which would make every table true."""
    tests = sorted({fault.test for fault in FAULTS})
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        folder = Path(name)
        plant(None, folder)
        if not imports_the_copy(folder):
            return ["the copy of the source is not what is imported"]
        ends = pool.map(lambda test: run(folder, test), tests)
        return [test for test, done in zip(tests, ends, strict=True) if done is None or done.returncode]


def shown(fault: Fault) -> str:
    """What was broken, in one cell of a table."""
    before, after = (" ".join(text.split()).replace("|", "\\|") for text in (fault.before, fault.after))
    change = f"`{before}` becomes `{after}`" if after else f"`{before}` is gone"
    return f"{fault.path.removeprefix('src/bridle/')}: {change}"


def row_of(fault: Fault, *, seen: bool) -> str:
    """A row of the table."""
    return f"| {fault.row} | {shown(fault)} | {fault.test} | {'yes' if seen else '**no**'} |"


HEAD = """# Faults planted against the requirements

Made by `scripts/seeds`. Each fault breaks one row of [requirements.md](requirements.md). The test that the row names
must fail by an assertion of its own.

| # | what was broken | test | caught |
| --- | --- | --- | --- |
"""


def main() -> int:
    failing = failing_unbroken()
    for test in failing:
        print(f"fails without any fault: {test}", file=sys.stderr)
    lines: list[str] = []
    missed = 0
    with ThreadPoolExecutor(2) as pool:
        for fault, seen in zip(FAULTS, pool.map(caught, FAULTS), strict=True):
            missed += not seen
            lines.append(row_of(fault, seen=seen))
            print(f"{fault.row} {'caught' if seen else 'MISSED'}", flush=True)
    counted = f"{len(FAULTS) - missed} of {len(FAULTS)} are caught."
    PAGE.write_text(HEAD + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(counted)
    return 1 if missed or failing else 0


if __name__ == "__main__":
    sys.exit(main())
