"""The page with all measurements of `bridle serve`, and whether each meets its goal."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from support.opencode_packages import VERSION

from bench.server import followers, start, streams
from bridle import __version__

GOAL = 0.1
"""The share of what OpenCode's server needs."""


def goal(words: str, value: float, most: float, unit: str = "") -> str:
    """Return a line that says whether a value is small enough."""
    met = "met" if value <= most else "MISSED"
    return f"- {met}: {words}: {value:.3g}{unit} (goal {most:g}{unit})"


def of_start(given: argparse.Namespace) -> str:
    found = start.costs(given.rounds, given.idle)
    best = start.best(found)
    rows = "\n".join(
        f"| {number} | {each.start_cpu_seconds:.2f} | {each.megabytes:.1f} | {each.idle_percent:.3f} |"
        for number, each in enumerate(found, 1)
    )
    return f"""## Start and rest

A server on SQLite, from its start to the first answer of `/health`, and then left alone for {given.idle:g} seconds.

| round | CPU s until it answers | MB | CPU % at rest |
| ---: | ---: | ---: | ---: |
{rows}

{goal("CPU until the first answer, the best round", best.start_cpu_seconds, start.MOST_START_SECONDS, " s")}
{goal("memory at rest", best.megabytes, start.MOST_MEGABYTES, " MB")}
{goal("CPU at rest", best.idle_percent, start.MOST_IDLE_PERCENT, " %")}
"""


def of_streams(given: argparse.Namespace) -> str:
    found = streams.streamed(given.sessions, given.readers, given.words)
    return f"""## Many sessions that stream

Sessions that all stream at once, each to {given.readers} followers of the native API. What a follower got is
compared with the record: every event once, in order, and the texts.

| sessions | followers | entries | deliveries | CPU µs a delivery | MB | seconds |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| {found.sessions} | {found.followers:,} | {found.entries:,} | {found.deliveries:,} | \
{found.cpu_microseconds_per_delivery:.0f} | {found.megabytes:.0f} | {found.seconds:.0f} |

{goal("followers with a lost, repeated or reordered event", found.wrong, 0)}
"""


def of_followers(given: argparse.Namespace) -> str:
    found = followers.compared(given.followers, given.seconds, given.rate)
    names = {"bridle": f"Bridle {__version__}", "opencode": f"OpenCode {VERSION}"}
    rows = "\n".join(
        f"| {names[name]} | {each.deliveries:,} | {each.cpu_microseconds_per_delivery:.1f} | {each.megabytes:.0f} | "
        f"{each.p50_milliseconds:.0f} | {each.p99_milliseconds:.0f} |"
        for name, each in found.items()
    )
    cpu, memory = followers.ratios(found["bridle"], found["opencode"])
    return f"""## Beside OpenCode's server

`bridle serve` and `opencode serve` one after the other: {given.followers:,} followers of `/event` in one directory,
and {given.rate:g} events per second for {given.seconds:g} seconds. The delay is from the request that causes an event
to its arrival; the followers share the machine's processors with the server.

| server | deliveries | CPU µs a delivery | MB | delay ms, half | delay ms, 99 % |
| --- | ---: | ---: | ---: | ---: | ---: |
{rows}

{goal("CPU of a delivery, over OpenCode's", cpu, GOAL)}
{goal("memory with all followers, over OpenCode's", memory, GOAL)}
"""


def main(words: list[str]) -> int:
    """Print the page."""
    parser = argparse.ArgumentParser(prog="bench/run server", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of starts")
    parser.add_argument("--idle", type=float, default=30.0, help="seconds to look at an idle server")
    parser.add_argument("--sessions", type=int, default=100, help="that stream at once")
    parser.add_argument("--readers", type=int, default=10, help="of each session that streams")
    parser.add_argument("--words", type=int, default=100, help="of each of the two replies")
    parser.add_argument("--followers", type=int, default=1_000, help="of /event")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=10.0, help="events per second")
    parser.add_argument("--write", type=Path, help="also write the page, as Markdown")
    given = parser.parse_args(words)
    head = f"""# Benchmarks of the server

Made by `bench/run server` on {datetime.now(UTC):%Y-%m-%d}: {platform.machine()}, {platform.system()}, \
{os.cpu_count()} processors, Python {platform.python_version()}. {os.getloadavg()[0]:.0f} other programs wanted a
processor when it began.
"""
    page = "\n".join([head, of_start(given), of_streams(given), of_followers(given)])
    sys.stdout.write(page)
    if given.write is not None:
        given.write.write_text(page, encoding="utf-8")
    return 0
