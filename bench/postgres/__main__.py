"""Sessions on PostgreSQL: compared with SQLite and peers, followed and parked, on workers; `--capacity`: growth."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.contender import installed
from bench.postgres.capacity import Effort, grown
from bench.postgres.capacity_page import capacity_page, prose
from bench.postgres.contest import OURS, PEERS, Contest, Shape
from bench.postgres.following import Delays, delays
from bench.postgres.parked import parked, parked_goal
from bench.postgres.server import Server, running
from bench.postgres.workers import Working, worked

SHAPES = [Shape(1, 5, 20), Shape(20, 20, 20), Shape(200, 200, 20), Shape(10, 10, 100), Shape(1, 1, 600)]
SHORT_SHAPES = [Shape(10, 10, 4)]
PARKED, WORKERS, WORKED = 1_000, 10, 200
SHORT_PARKED, SHORT_WORKERS, SHORT_WORKED = 50, 2, 6
ENTRIES = (100_000, 1_000_000, 10_000_000)
SHORT_EFFORT = Effort((2_000, 4_000, 6_000), sessions=5, processes=(1,), shared=5, calls=0.01)


@dataclass(frozen=True, kw_only=True)
class Found:
    """All that was measured in one run."""

    contest: Contest
    delays: Delays
    parked: int
    megabytes: float
    working: Working
    missing: list[str]

    def goals(self) -> list[tuple[str, bool]]:
        parked_kept = parked_goal(self.parked, self.megabytes)
        return [*self.contest.goals(), *self.delays.goals(), parked_kept, *self.working.goals()]


def load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def made(server: Server, words: str, before: str) -> list[str]:
    """Return how and where a page was made."""
    version = server.setting("server_version").split()[0]
    return [
        f"Made by `bench/run postgres{words}` on {datetime.now(UTC):%Y-%m-%d}: {platform.machine()},",
        f"{platform.system()}, Python {platform.python_version()}, PostgreSQL {version} with its default settings on",
        f"the same machine, over a socket. The machine has {os.cpu_count()} processors and did other work too: its",
        f"load was {before} at the beginning and {load()} at the end.",
    ]


def measured(server: Server, given: argparse.Namespace) -> Found:
    found, missing = installed([] if given.without_peers or given.short else PEERS)
    contest = Contest([*OURS, *found], SHORT_SHAPES if given.short else SHAPES)
    contest.run(server, 1 if given.short else given.rounds, given.peer_rounds)
    sessions = SHORT_PARKED if given.short else PARKED
    workers, work = (SHORT_WORKERS, SHORT_WORKED) if given.short else (WORKERS, WORKED)
    return Found(
        contest=contest,
        delays=delays(server, 4, 4) if given.short else delays(server),
        parked=sessions,
        megabytes=parked(server, sessions),
        working=worked(server, workers, work),
        missing=missing,
    )


def page(found: Found, head: list[str], given: argparse.Namespace) -> str:
    delayed, working = found.delays, found.working
    lines = [
        "# Sessions on PostgreSQL",
        "",
        *prose(*head, "Ratios hold better than seconds: all contenders work in turn in the same run."),
        "## Steps",
        "",
        *prose(
            "Whole sessions in one process, with a model inside it and one tool call a step, each time in an empty",
            f"database. CPU is the lowest of {given.rounds} rounds ({given.peer_rounds} for peers), without import and",
            "start; that of the server is of all its processes. Steps a second are of the best round. langgraph has",
            "its default durability and a pool of 10 connections. On DBOS each session is a workflow, and each request",
            "and each call is a step of it.",
        ),
        *found.contest.table(),
        "",
        *prose(
            "The goal of a twentieth of langgraph's CPU is one for a whole step. A step of Bridle in memory, with no",
            "journal, takes about 0.15 ms ([benchmarks.md](benchmarks.md)), which leaves a journal little of that. A",
            "step of langgraph costs more in longer sessions, one of Bridle's does not; one session alone fills no",
            "batch.",
        ),
        "## Followers, parked sessions and workers",
        "",
        "| what | measured |",
        "| --- | ---: |",
        f"| delay of an entry to a follower in another process, half | {delayed.share(0.5):.1f} ms |",
        f"| the same, 90 % | {delayed.share(0.9):.1f} ms |",
        f"| the same, 99 % | {delayed.share(0.99):.1f} ms |",
        f"| entries that were followed | {len(delayed.milliseconds):,} |",
        f"| memory of {found.parked:,} parked sessions, in the process that drove them | {found.megabytes:.1f} MB |",
        f"| connections of {working.workers} workers and one client, at most | {working.connections} |",
        f"| sessions that these workers answered | {working.answered} of {working.sessions} |",
        "",
        *prose(
            "A delay is the time from the moment at which the writing process knows of the commit to the arrival of",
            "the entry in the following process, which may come first. Connections are counted every 50 ms in",
            "`pg_stat_activity`.",
        ),
        *[f"- {'met' if kept else 'MISSED'}: {words}" for words, kept in found.goals()],
        *found.missing,
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer-rounds", type=int, default=2)
    parser.add_argument("--short", action="store_true", help="little of everything, without peers")
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--capacity", action="store_true", help="measure a journal as it grows instead")
    parser.add_argument("--entries", type=int, nargs="*", help="the sizes of that journal")
    parser.add_argument("--write", type=Path, help="also write the page, as Markdown")
    given = parser.parse_args()
    before, goals = load(), []
    with running() as server:
        if given.capacity:
            growth = grown(server, SHORT_EFFORT if given.short else Effort(given.entries or ENTRIES))
            text = capacity_page(growth, made(server, " --capacity", before))
        else:
            found = measured(server, given)
            goals = found.goals()
            text = page(found, made(server, "", before), given)
    sys.stdout.write(text)
    if given.write is not None:
        given.write.write_text(text, encoding="utf-8")
    return 0 if all(kept for _, kept in goals) else 1


if __name__ == "__main__":
    raise SystemExit(main())
