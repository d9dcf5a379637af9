"""Bridle, a bare client and the peers over loopback HTTP, interleaved in one run: tables of costs and of ratios."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from bench.contender import installed, row
from bench.http.wires import BARE, OURS, PEERS, SHAPES, Bench, Wired, serving
from bench.starts import Command, commands, opencode, prepare_opencode, start_twice
from bench.wire_server import PAUSE_SECONDS, step_events, text_events


@dataclass(frozen=True)
class Goal:
    name: str
    measured: float
    sense: Literal["at most", "at least"]
    bound: float

    def line(self) -> str:
        met = self.measured <= self.bound if self.sense == "at most" else self.measured >= self.bound
        return f"- {'met' if met else 'MISSED'}: {self.name}: {self.measured:.3g} (goal {self.sense} {self.bound:g})"


def step_table(contenders: list[Wired], bare: Wired) -> list[str]:
    """What a late step costs, and how often the bare client's cost that is."""
    lines = [row(["contender", "version", *(f"{shape}: CPU µs | of bare" for shape in SHAPES)])]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: |")
    for each in contenders:
        if "steps" in each.works:
            costs = [(each.best(f"steps {shape}"), bare.best(f"steps {shape}")) for shape in SHAPES]
            cells = [f"{cost * 1e6:.0f} | {cost / floor:.2f}" for cost, floor in costs]
            lines.append(row([each.name, each.reports[0]["version"], *cells]))
    return lines


def text_table(contenders: list[Wired], bare: Wired, events: int, size: int) -> list[str]:
    """What is read in a second of CPU, and how much of what the bare client reads that is."""
    heads = (f"{shape}: events/s | MB/s | of bare" for shape in SHAPES)
    lines = [row(["contender", "version", *heads]), "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for each in contenders:
        costs = [(each.best(f"text {shape}"), bare.best(f"text {shape}")) for shape in SHAPES]
        cells = [f"{events / cost:,.0f} | {size / 1e6 / cost:.2f} | {floor / cost:.2f}" for cost, floor in costs]
        lines.append(row([each.name, each.reports[0]["version"], *cells]))
    return lines


def start_table(found: list[Command]) -> list[str]:
    """What it costs to come to the first request: in a fresh home, and once more in the same."""
    lines = [row(["command", "version", "fresh home: CPU s", "elapsed s", "again: CPU s", "elapsed s"])]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: |")
    for each in found:
        costs = [
            f"{min(cost.cpu for cost in kept):.2f} | {min(cost.wall for cost in kept):.2f}"
            for kept in (each.fresh, each.again)
        ]
        lines.append(row([each.name, each.version(), *costs]))
    return lines


def goals(found: dict[str, Wired], started: list[Command]) -> list[str]:
    """The goals of the project, each with what was measured."""
    bare, adapter = found[BARE], found["Bridle's adapter alone"]
    lines = []
    for shape in SHAPES:
        for name in ("Bridle, memory", "Bridle, SQLite (default)"):
            ratio = found[name].best(f"steps {shape}") / bare.best(f"steps {shape}")
            if name == "Bridle, memory":
                lines.append(Goal(f"CPU of a step of {name}, {shape}, of bare's", ratio, "at most", 2.0).line())
            else:
                lines.append(f"- no goal: CPU of a step of {name}, {shape}, of bare's: {ratio:.3g}")
    for shape in SHAPES:
        share = bare.best(f"text {shape}") / adapter.best(f"text {shape}")
        lines.append(Goal(f"events a second of Bridle's adapter, {shape}, of bare's", share, "at least", 0.5).line())
    for command in started:
        if command.name == "bridle run":
            cpu = min(cost.cpu for cost in command.fresh)
            lines.append(Goal("CPU seconds of bridle run to its first request", cpu, "at most", 0.4).line())
    return lines


def enrolled(peers: list[Wired]) -> tuple[list[Wired], list[Command], list[str]]:
    """Who takes part, with which commands, and who could not."""
    contenders, missing = installed(peers)
    started = commands()
    if peers:
        problem = prepare_opencode()
        if problem:
            missing.append(f"- OpenCode could not be installed: {problem}")
        else:
            started.append(opencode())
    return [*OURS, *contenders], started, missing


def rounds(bench: Bench, number: int, contenders: list[Wired], started: list[Command]) -> list[str]:
    """Run everybody in turn; returns what commands did not come to a request."""
    problems = []
    bench.record()
    for at in range(number):
        for contender in contenders:
            print(f"round {at + 1}/{number}: {contender.name}", file=sys.stderr, flush=True)
            bench.run(contender)
        for command in list(started):
            print(f"round {at + 1}/{number}: {command.name}", file=sys.stderr, flush=True)
            problem = start_twice(command)
            if problem:
                started.remove(command)
                problems.append(f"- {command.name} was not measured: {problem}")
    return problems


def page(bench: Bench, number: int, contenders: list[Wired], started: list[Command], missing: list[str]) -> list[str]:
    """Everything that was measured, as Markdown."""
    found = {contender.name: contender for contender in contenders}
    bare, steps = found[BARE], bench.counts["steps"]
    events = text_events(bench.counts["text"])
    size = sum(map(len, events))
    machine = f"{platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    last = max(map(len, bench.bodies.read_bytes().splitlines()))
    return [
        "# Benchmarks over HTTP",
        "",
        f"Made by `bench/run http` on {datetime.now(UTC):%Y-%m-%d}: {machine}.",
        f"The best of {number} rounds, each contender in its own process; only the client's CPU counts.",
        "Together, the events of a reply share HTTP chunks; apart, each event has its own.",
        "",
        f"## A step around step {steps} of one turn",
        "",
        f"{len(step_events(1, steps, 100))} events per reply; the last body has {last / 1000:.0f} kB. The bare client",
        "sends the bodies that Bridle sent, and decodes every event. Watched means that a client reads the events.",
        f"Apart, each event comes at least {PAUSE_SECONDS * 1000:g} ms after the previous one.",
        "",
        *step_table(contenders, bare),
        "",
        f"## One reply of {bench.counts['text']:,} pieces of text",
        "",
        f"{size / len(events):.0f} bytes per event, {size / 1e6:.2f} MB in total; per second of CPU.",
        "",
        *text_table(contenders, bare, len(events), size),
        "",
        "## From the start of a process to its first request",
        "",
        f"The CPU of all its processes, in ticks of {1000 / os.sysconf('SC_CLK_TCK'):g} ms. OpenCode runs without",
        "updates, and without fetching its list of models and language servers.",
        "",
        *start_table(started),
        "",
        "## Goals",
        "",
        *goals(found, started),
        *missing,
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--pieces", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--again", type=int, default=5, help="turns of many steps in each round, of which the best counts"
    )
    parser.add_argument("--without-peers", action="store_true", help="only the bare client and Bridle")
    parser.add_argument("--short", action="store_true", help="one small round without peers, to see that it works")
    parser.add_argument("--write", type=Path, help="also write the page, as Markdown")
    given = parser.parse_args()
    if given.short:
        given.steps, given.pieces, given.rounds, given.again, given.without_peers = 30, 500, 1, 1, True
    contenders, started, missing = enrolled([] if given.without_peers else PEERS)
    with serving() as server, tempfile.TemporaryDirectory(prefix="bridle-bench-") as folder:
        bench = Bench({"steps": given.steps, "text": given.pieces}, server, Path(folder) / "bodies", given.again)
        missing += rounds(bench, given.rounds, contenders, started)
        lines = page(bench, given.rounds, contenders, started, missing)
    print("\n".join(lines))
    if given.write is not None:
        given.write.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
