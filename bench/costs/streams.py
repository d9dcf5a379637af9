"""What a piece of streamed text costs, from the bytes on loopback HTTP to whoever watches."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from bench.contender import installed, row
from bench.costs.plots import Bars, bars
from bench.http.wires import BARE, OURS, PEERS, SHAPES, WATCHED, Bench, Wired, serving

MOST_OF_BARE = 2.0
"""As for a step, in `bench/run http`."""


def streaming(*, peers: bool) -> tuple[list[Wired], list[str]]:
    """Who hands on each piece of text as it comes, and who could not be installed."""
    found, missing = installed(PEERS if peers else [])
    ours = [each for each in OURS if each.name in (BARE, WATCHED)]
    return [replace(each, works=("text",), reports=[]) for each in [*ours, *found]], missing


def stream(contenders: list[Wired], pieces: int, rounds: int, again: int) -> None:
    """Run everybody in turn; the cheap ones several times in each round, again in turn."""
    with serving() as server:
        bench = Bench({"text": pieces}, server, Path(), 1)
        for number in range(rounds):
            for each in contenders:
                print(f"streamed text, round {number + 1}/{rounds}: {each.name}", file=sys.stderr, flush=True)
                bench.run(each)
            for each in [cheap for cheap in contenders if not cheap.needs] * (again - 1):
                bench.run(each)


def costs_of(contenders: list[Wired], name: str, pieces: int) -> list[float]:
    """The CPU microseconds of a piece, in each shape."""
    found = next(each for each in contenders if each.name == name)
    return [found.best(f"text {shape}") / pieces * 1e6 for shape in SHAPES]


def stream_table(contenders: list[Wired], pieces: int) -> list[str]:
    """What a piece costs, how many come in a second of CPU, and how often the bare client's cost that is."""
    heads = [f"{shape}: CPU µs | pieces/s | of bare" for shape in SHAPES]
    lines = [row(["contender", "version", *heads]), "| --- | --- " + "| ---: " * 6 + "|"]
    floors = costs_of(contenders, BARE, pieces)
    for each in contenders:
        costs = zip(costs_of(contenders, each.name, pieces), floors, strict=True)
        cells = [f"{cost:.1f} | {1e6 / cost:,.0f} | {cost / floor:.2f}" for cost, floor in costs]
        lines.append(row([each.name, each.reports[0]["version"], *cells]))
    return lines


def stream_goals(contenders: list[Wired], pieces: int) -> list[tuple[str, float, float]]:
    """Bridle with its default, all the way to somebody who watches."""
    floors, costs = costs_of(contenders, BARE, pieces), costs_of(contenders, WATCHED, pieces)
    return [
        (f"CPU of a piece of streamed text, {shape}, of bare's", cost / floor, MOST_OF_BARE)
        for shape, cost, floor in zip(SHAPES, costs, floors, strict=True)
    ]


def draw_streams(contenders: list[Wired], pieces: int, looks: dict[str, tuple[str, str, bool]], folder: Path) -> None:
    """Write the plot, from the cheapest to the dearest."""
    rows = [Bars(*looks[each.name], costs_of(contenders, each.name, pieces)) for each in contenders]
    rows.sort(key=lambda each: max(each.values))
    note = "Microseconds, over loopback HTTP: pieces that come together and (paler) each in a chunk of its own."
    plot = bars("CPU of a piece of streamed text", note, rows, "{:.0f}")
    (folder / "stream.svg").write_text(plot)
