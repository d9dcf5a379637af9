"""Many worlds: piece by piece in processes of their own, noted as they are done, and gone on with after a stop."""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
PATIENCE_SECONDS = 1_800
SHOWN_SECONDS = 60.0
BAR = 30


class Progress(msgspec.Struct):
    """What was done of a long run, for one state of the code."""

    code: str
    start: int
    worlds: bool
    piece: int
    done: list[int] = []
    """The pieces that are done, by their number."""
    seeds: int = 0
    seconds: float = 0.0
    failures: list[str] = []
    seen: dict[str, int] = {}


class Piece(msgspec.Struct):
    """What came of one piece."""

    failures: list[str]
    seen: dict[str, int]


def code() -> str:
    """A name for what is tested and for what tests it."""
    digest = hashlib.blake2b(digest_size=8)
    source = HERE.parent.parent / "src" / "bridle"
    support = HERE.parent / "support"
    for path in sorted([*source.rglob("*.py"), *source.rglob("*.sql"), *HERE.glob("*.py"), *support.glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def long_run(given: argparse.Namespace) -> int:
    # Only whole pieces are noted.
    given.seeds = -(-given.seeds // given.piece) * given.piece
    progress = _begun(given)
    left = [number for number in range(given.seeds // given.piece) if number not in set(progress.done)]
    before, begun = progress.seconds, time.monotonic()
    shown = 0.0
    try:
        for number, seeds, piece in _pieces(given, left):
            progress.done.append(number)
            progress.seeds += len(seeds)
            progress.failures += piece.failures
            progress.seen = dict(Counter(progress.seen) + Counter(piece.seen))
            progress.seconds = before + time.monotonic() - begun
            _keep(given.progress, progress)
            for failure in piece.failures:
                print(f"\n{failure}", flush=True)
            if sys.stderr.isatty() or time.monotonic() - shown > SHOWN_SECONDS:
                shown = time.monotonic()
                _show(progress, given.seeds)
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on from here")
    lines = _told(progress)
    print("\n".join(["", *lines]))
    if given.write is not None:
        given.write.write_text("\n".join([*HEAD, *lines, ""]))
    return bool(progress.failures)


def _begun(given: argparse.Namespace) -> Progress:
    """What was done before by the same command on the same code, or nothing yet."""
    fresh = Progress(code(), given.start, given.worlds, given.piece)
    try:
        kept = msgspec.json.decode(given.progress.read_bytes(), type=Progress)
    except FileNotFoundError:
        return fresh
    except msgspec.DecodeError:
        sys.exit(f"{given.progress} is not what a run of this program has left; move it away, or name another file")
    if (kept.code, kept.start, kept.worlds, kept.piece) != (fresh.code, fresh.start, fresh.worlds, fresh.piece):
        print(f"{given.progress} is of another run or of other code: beginning anew")
        return fresh
    print(f"going on after {kept.seeds:,} seeds")
    return kept


def _keep(path: Path, progress: Progress) -> None:
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(msgspec.json.encode(progress))
    beside.replace(path)


def _pieces(given: argparse.Namespace, left: list[int]) -> Iterator[tuple[int, range, Piece]]:
    """Each piece as it is done, with its number."""
    waiting = iter(left)
    running: dict[Future[Piece], tuple[int, range]] = {}
    with ThreadPoolExecutor(given.processes) as pool:
        try:
            while True:
                while len(running) < given.processes and (number := next(waiting, None)) is not None:
                    first = given.start + number * given.piece
                    seeds = range(first, first + given.piece)
                    running[pool.submit(_apart, seeds, given.worlds)] = (number, seeds)
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield *running.pop(future), future.result()
        finally:
            for future in running:
                future.cancel()


def _apart(seeds: range, worlds: bool) -> Piece:
    """One piece in a process of its own; a process that does not come to an end is a failure like any other."""
    words = f"import sim.long_run as run; run.in_here(range({seeds.start}, {seeds.stop}), {worlds})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", words]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Piece([f"seeds {seeds.start} to {seeds.stop - 1}: no end after {PATIENCE_SECONDS} s"], {})
    if done.returncode:
        why = done.stderr.decode(errors="replace")[-2_000:]
        return Piece([f"seeds {seeds.start} to {seeds.stop - 1}: status {done.returncode}: {why}"], {})
    return msgspec.json.decode(done.stdout, type=Piece)


def in_here(seeds: range, worlds: bool) -> None:
    """A piece, in the process that was started for it."""
    from sim.__main__ import piece
    from sim.disks import ROOT

    failures, seen = piece(seeds, worlds=worlds)
    sys.stdout.buffer.write(msgspec.json.encode(Piece(failures, dict(seen))))
    sys.stdout.flush()
    ROOT.rmdir()
    # The dead processes of every life are still in memory; nothing of theirs may run, not even their ends.
    os._exit(0)


def _show(progress: Progress, seeds: int) -> None:
    share = progress.seeds / seeds
    speed = progress.seeds / max(progress.seconds, 0.001)
    left = (seeds - progress.seeds) / max(speed, 0.001)
    bar = "#" * int(share * BAR)
    line = (
        f"[{bar:.<{BAR}}] {progress.seeds:,}/{seeds:,} seeds, {len(progress.failures)} failures, "
        f"{speed:.1f} a second, {left / 60:,.0f} minutes left"
    )
    sys.stderr.write(f"\r{line}" if sys.stderr.isatty() else f"{line}\n")
    sys.stderr.flush()


HEAD = [
    "# A run of the simulation",
    "",
    "Made by `scripts/simulate --write`: the events in these worlds, and the failures of invariants.",
    "[simulation.md](simulation.md) describes the worlds.",
    "",
]


def _told(progress: Progress) -> list[str]:
    total = f"{progress.seeds:,} seeds in {progress.seconds:,.0f} s, {len(progress.failures)} failures"
    machine = f"{platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    rows = [f"| {name} | {times:,} |" for name, times in sorted(progress.seen.items())]
    begun = f"From seed {progress.start}, on code {progress.code}, up to {datetime.now(UTC):%Y-%m-%d}; {machine}."
    return [f"{total}.", begun, "", "| event | times |", "| --- | ---: |", *rows, *progress.failures]
