"""Many sessions on several workers and one PostgreSQL, with failures: all end, nothing twice, nothing left."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bench.workers.checks import Found, found
from bench.workers.database import Database, Proxy
from bench.workers.fleet import Fleet
from bench.workers.takeover import SESSIONS, WORKERS, taken_over
from bench.workers.tree import POOR, POOR_BUDGET, SUBAGENTS, TENANTS, Journaled, runtime
from bench.workers.trouble import Trouble
from bridle import Runtime, TurnOptions
from bridle.errors import JournalError
from bridle.journal.postgres import PostgresJournal
from bridle.journal.postgres_presence import LeaseTimes

PAGE = Path("docs/evidence/workers.md")
USUAL = LeaseTimes()
QUICK = LeaseTimes(
    lease_seconds=3.0, heartbeat_seconds=1.0, deadline_seconds=2.0, answer_seconds=1.0, supervisor_seconds=1.6
)
PATIENCE_SECONDS = 30.0
"""Time without any change after which a run counts as stuck."""
LOOK_SECONDS = 0.5
AGAIN_SECONDS = 0.5
ROUNDS = 3
UNDONE = """
    SELECT count(*), count(*) FILTER (WHERE ends = 0), count(*) FILTER (WHERE holder IS NOT NULL OR wanted IS NOT NULL),
        (SELECT count(*) FROM bridle_queue.procrastinate_jobs), sum(sequence)
    FROM bridle.session
"""
STUCK = """
    SELECT s.id, s.ends, s.sequence, s.epoch, s.holder, w.process, w.until > clock_timestamp(), s.wanted, s.problem
    FROM bridle.session AS s LEFT JOIN bridle.worker AS w ON w.id = s.holder
    WHERE ends = 0 OR holder IS NOT NULL OR wanted IS NOT NULL LIMIT 20
"""
JOBS = "SELECT status, queueing_lock, worker_id FROM bridle_queue.procrastinate_jobs LIMIT 20"
ASIDE = "SELECT id FROM bridle.session WHERE aside"


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much a run does."""

    sessions: int
    workers: int
    kills: int
    apart: float
    short: bool

    @property
    def trees(self) -> int:
        return self.sessions // (SUBAGENTS + 1)

    @property
    def span(self) -> float:
        """The seconds within which the trees arrive."""
        return self.apart * (self.kills + (0.0 if self.short else 0.8))


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a run has shown."""

    found: Found
    seconds: float
    aside: int
    log: Sequence[str]
    problems: Sequence[str]


async def arrive(here: Runtime, trees: int, span: float) -> None:
    """Submit trees evenly over a time; a server that is away is asked again with the same ids."""
    for number in range(trees):
        options = TurnOptions(account=TENANTS[number % len(TENANTS)])
        session, prompt = f"ses_tree{number}", f"prm_tree{number}"
        for _ in range(int(PATIENCE_SECONDS / AGAIN_SECONDS)):
            try:
                await here.prompt(await here.create(session), "tree", id=prompt, options=options)
                break
            except JournalError:
                await asyncio.sleep(AGAIN_SECONDS)
        await asyncio.sleep(span / trees)


async def ended(here: Runtime, journal: PostgresJournal) -> tuple[int, str]:
    """Wait until nothing is to be done; sessions that were set aside are resumed, as a person does, and counted."""
    aside, left = 0, ""
    changed, seen = time.monotonic(), ()
    while time.monotonic() - changed < PATIENCE_SECONDS:
        for (session,) in await journal.rows(ASIDE):
            aside += 1
            await here.resume(session)
        (now,) = await journal.rows(UNDONE)
        if now != seen:
            changed, seen = time.monotonic(), now
        every, undone, busy, jobs, _ = now
        left = f"of {every} sessions {undone} have not ended and {busy} are busy; {jobs} jobs"
        if not (undone or busy or jobs):
            return aside, ""
        await asyncio.sleep(LOOK_SECONDS)
    return aside, left


async def loaded(size: Size, database: Database, folder: str) -> Run:
    proxy = Proxy(database.socket)
    port = await proxy.start()
    times = QUICK if size.short else USUAL
    given = Journaled(database.url, "load", folder, _plain(times))
    async with runtime(given) as here:
        assert isinstance(here.journal, PostgresJournal)
        await here.set_budget(POOR, POOR_BUDGET)
        await here.journal.wakes.ready()
        through = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        fleet = Fleet(given, size.workers, {} if size.short else {size.workers - 1: through})
        try:
            trouble = Trouble(database, fleet, proxy, here.journal)
            await trouble.watch()
            began = time.monotonic()
            events = (trouble.short if size.short else trouble.long)(size.kills, size.apart)
            await asyncio.gather(arrive(here, size.trees, size.span), trouble.befall(events))
            aside, left = await ended(here, here.journal)
            if left:
                print(left, *await here.journal.rows(STUCK), sep="\n", file=sys.stderr)
                print(*await here.journal.rows(JOBS), sep="\n", file=sys.stderr)
                fleet.show_tasks()
                sys.stderr.write(fleet.complaints[-20_000:])
            seconds = time.monotonic() - began
        finally:
            fleet.close()
        await here.journal.close()
    await proxy.close()
    seen = await found(given)
    problems = [*seen.problems, *trouble.problems, *([left] if left else [])]
    return Run(found=seen, seconds=seconds, aside=aside, log=trouble.log, problems=problems)


def _plain(times: LeaseTimes) -> dict[str, float]:
    names = ("lease_seconds", "heartbeat_seconds", "deadline_seconds", "answer_seconds", "supervisor_seconds")
    return {name: getattr(times, name) for name in names}


async def waits(database: Database, folder: str, how: signal.Signals, rounds: int) -> list[float]:
    """The seconds without a worker in several rounds, each on a journal of its own."""
    times: list[float] = []
    for number in range(rounds):
        place = Path(folder) / f"{how.name}{number}"
        place.mkdir()
        given = Journaled(database.url, f"{how.name.lower()}{number}", str(place), _plain(USUAL))
        times += await taken_over(given, how)
    return times


def share(values: Sequence[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def row(words: str, values: Sequence[float], most: float) -> tuple[str, bool]:
    late = share(values, 0.99)
    figures = f"{len(values)} | {share(values, 0.5):.2f} | {late:.2f} | {values and max(values):.2f} | {most:.0f}"
    return f"| {words} | {figures} |", late <= most


def page(size: Size, run: Run, measured: Sequence[tuple[str, bool]]) -> tuple[str, bool]:
    met = not run.problems and all(good for _, good in measured)
    reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(run.found.reasons.items()))
    machine = (
        f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}, Python {platform.python_version()}"
    )
    times = QUICK if size.short else USUAL
    lines = [
        "# Workers under load and failures",
        "",
        f"Made by `bench/run workers` on {datetime.now(UTC):%Y-%m-%d}: {machine},",
        f"load {os.getloadavg()[0]:.1f} at the end.",
        f"{size.workers} workers on one PostgreSQL: a lease of {times.lease_seconds:g} s, a heartbeat every "
        f"{times.heartbeat_seconds:g} s.",
        "",
        "## Load",
        "",
        f"- {run.found.sessions} sessions in {size.trees} trees, which arrived within {size.span:.0f} s, ended "
        f"after {run.seconds:.0f} s: {reasons}",
        f"- {run.found.calls} calls were begun, each once; {run.found.cut} were cut by the end of their worker, "
        "and the model was told so",
        f"- {run.aside} sessions were set aside after three deaths of their workers, and resumed",
        f"- {'met' if not run.problems else 'MISSED'}: every session ends, no call runs twice, no budget is exceeded, "
        "every record follows from the one before, no reservation and no job is left",
        *(f"  - {problem}" for problem in run.problems[:20]),
        "",
        "What happened:",
        "",
        *(f"- {line}" for line in run.log),
    ]
    if measured:
        lines += [
            "",
            "## Take-over",
            "",
            f"{SESSIONS} sessions on {WORKERS} workers, with the default times; one worker goes.",
            "Seconds until another worker has its sessions:",
            "",
            "| | sessions | half | 99 % | most | goal |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
            *(line for line, _ in measured),
            "",
            f"- {'met' if all(good for _, good in measured) else 'MISSED'}: 99 % within the goal",
        ]
    return "\n".join([*lines, ""]), met


async def play(size: Size, rounds: int) -> tuple[str, bool]:
    database = await asyncio.to_thread(Database)
    try:
        with tempfile.TemporaryDirectory() as folder:
            run = await loaded(size, database, folder)
            measured = []
            if rounds:
                wait = partial(waits, database, folder, rounds=rounds)
                measured.append(row("after the kill -9 of its worker", await wait(signal.SIGKILL), 20))
                measured.append(row("after the release by a worker that got SIGTERM", await wait(signal.SIGTERM), 2))
        return page(size, run, measured)
    finally:
        database.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--apart", type=float, default=25.0, help="seconds between two kills")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of the take-over; 0 leaves it out")
    parser.add_argument("--short", action="store_true", help="short leases, kills only, no take-over")
    parser.add_argument("--keep", action="store_true", help=f"write {PAGE}")
    given = parser.parse_args()
    size = Size(sessions=given.sessions, workers=given.workers, kills=given.kills, apart=given.apart, short=given.short)
    text, met = asyncio.run(play(size, 0 if given.short else given.rounds))
    sys.stdout.write(text)
    if given.keep:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
