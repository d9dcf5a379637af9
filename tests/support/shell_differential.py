"""Generated command lines that are allowed without a question, run by a real bash: only what was allowed may happen."""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from support.shell_judge import rules, verdict
from support.shell_programs import Ran, execute, generate

ALLOWED = ("git", "ls", "cat", "echo", "grep", "head", "sort", "wc", "printf", "find")
STARTERS = {
    "env",
    "timeout",
    "nice",
    "nohup",
    "setsid",
    "stdbuf",
    "xargs",
    "bash",
    "sh",
    "dash",
    "true",
    "false",
    "test",
}
"""Programs that only start others; what they start is judged."""
RULES = rules({"*": "ask", **{f"{name} *": "allow" for name in ALLOWED}, "rm *": "deny"})


def beyond(ran: Ran) -> tuple[set[str], set[str]]:
    """The programs and files that nobody allowed."""
    programs = {argv[0] for argv in ran.programs} - STARTERS - set(ALLOWED)
    return programs, {path for path in ran.written if not path.startswith("out/")}


def false_allows(seed: int, count: int) -> tuple[list[str], int]:
    """The lines that did more than they were allowed, and how many were allowed at all."""
    drawn = random.Random(seed)
    lines = [generate(drawn) for _ in range(count)]
    allowed = [line for line in lines if verdict(RULES, line) == "allow"]
    with tempfile.TemporaryDirectory() as folder:
        ran = execute(allowed, Path(folder))
    found = [
        f"{line!r}: {beyond(each)}" for line, each in zip(allowed, ran, strict=True) if beyond(each) != (set(), set())
    ]
    return found, len(allowed)


def denied_runs(seed: int, count: int) -> tuple[list[str], int]:
    """The lines that ran what alone was denied, and how many were allowed at all."""
    drawn = random.Random(seed)
    open_rules = rules({"*": "allow", "rm *": "deny"})
    allowed = [line for line in (generate(drawn) for _ in range(count)) if verdict(open_rules, line) == "allow"]
    with tempfile.TemporaryDirectory() as folder:
        ran = execute(allowed, Path(folder))
    return [
        line for line, each in zip(allowed, ran, strict=True) if any(argv[0] == "rm" for argv in each.programs)
    ], len(allowed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    done = allowed = wrong = 0
    while done < given.count:
        size = min(5_000, given.count - done)
        found, some = false_allows(given.seed * 1_000_003 + done, size)
        ran, others = denied_runs(given.seed * 1_000_003 + done, size)
        found += ran
        done, allowed, wrong = done + size, allowed + some + others, wrong + len(found)
        for line in found:
            print(f"\nFALSE ALLOW {line}")
        print(
            f"\r{done} of {given.count} commands, {allowed} allowed and run, {wrong} false allows", end="", flush=True
        )
    print()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
