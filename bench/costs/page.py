"""What was measured of Bridle and its peers, as a page: tables, goals and plots."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from bench.contender import Contender, row
from bench.costs.growth import Growth, draw_growth, growth_goals, growth_table, measures
from bench.costs.plots import Bars, Curve, bars, colours, curves
from bench.costs.streams import draw_streams, stream_goals, stream_table
from bench.http.wires import Wired

DEFAULT = "Bridle, SQLite, power (default)"
OURS = "bridle run"
OPENCODE = "opencode run"
AGNO_MICROSECONDS = 200.0
SHORTER = 200
"""The steps of a shorter conversation, of those that keep theirs."""
PLOTS = "benchmarks"
LEFT_OUT = ("Bridle, memory, capped", "Bridle, SQLite, process")
"""They lie next to others of ours in every plot."""


@dataclass(frozen=True)
class Measured:
    """Everything that was measured, and how."""

    contenders: list[Contender]
    commands: list[Contender]
    growths: list[Growth]
    streams: list[Wired]
    steps: int
    pieces: int
    how: str
    command_rounds: int

    def named(self) -> dict[str, Contender]:
        return {each.name: each for each in [*self.contenders, *self.commands]}

    def counted(self) -> list[tuple[str, float, float]]:
        """The goals of what is told beside the steps and the commands."""
        ours = next(each for each in self.growths if each.name == DEFAULT)
        return [*growth_goals(ours), *stream_goals(self.streams, self.pieces)]


def table(contenders: list[Contender], steps: int) -> list[str]:
    """Rows of what each costs, and how often the cost of Bridle's default that is."""
    heads = ["contender", "version", "CPU µs", "first 40", "last 40", "last/first", "of Bridle's", "whole µs"]
    heads += ["MB kept", "written", "start CPU s", "start MB", "peak MB"]
    lines = [row(heads), "| --- | --- " + "| ---: " * (len(heads) - 2) + "|"]
    unit = next(each for each in contenders if each.name == DEFAULT)
    for each in contenders:
        median, first, last = each.best("median"), each.best("first"), each.best("last")
        cells = [
            each.name,
            each.reports[0]["version"] or "-",
            f"{median:.0f}",
            f"{first:.0f}",
            f"{last:.0f}",
            f"{last / first:.2f}",
            f"{median / unit.best('median'):.2f}",
            f"{each.whole() / steps * 1e6:.0f}",
            f"{each.best('bytes_kept') / 1e6:.2f}",
            f"{each.best('bytes_written') / 1e6:.1f}",
            f"{each.best('start_cpu'):.2f}",
            f"{each.best('start_mb'):.0f}",
            f"{each.best('rss_mb'):.0f}",
        ]
        lines.append(row(cells))
    return lines


def whole_table(commands: list[Contender]) -> list[str]:
    """Rows of what whole commands cost."""
    heads = ["command", "version", "start CPU s", "start MB", "peak MB", "steps", "CPU ms a step", "kB kept a step"]
    marks = sorted({mark for each in commands for mark, _ in each.curve()})
    heads += [f"CPU ms to {mark:,}" for mark in marks]
    lines = [row(heads), "| --- | --- " + "| ---: " * (len(heads) - 2) + "|"]
    for each in commands:
        curve, steps = dict(each.curve()), each.reports[0]["steps"]
        cells = [
            each.name,
            each.reports[0]["version"],
            f"{each.best('start_cpu'):.2f}",
            f"{each.best('start_mb'):.0f}",
            f"{each.best('rss_mb'):.0f}",
            f"{steps:,}",
            f"{each.best('median') / 1000:.1f}",
            # In later rounds, something may fit into room that an earlier one has left.
            f"{each.reports[0]['bytes_kept'] / 1000 / max(1, steps):.1f}",
            *(f"{curve[mark] / 1000:.1f}" if mark in curve else "-" for mark in marks),
        ]
        lines.append(row(cells))
    return lines


def until(command: Contender, steps: int) -> float:
    """The CPU of a command's first steps, in the best round."""
    totals = []
    for report in command.reports:
        curve = [(0, 0.0), *((mark, cost) for mark, cost in report["curve"] if mark <= steps)]
        totals.append(sum(cost * (mark - before) for (before, _), (mark, cost) in pairwise(curve)))
    return min(totals)


def verdicts(measured: Measured) -> list[str]:
    """The goals of the project, each with what was measured."""
    found, steps = measured.named(), measured.steps
    memory, capped = found["Bridle, memory"], found["Bridle, memory, capped"]
    process, power = found["Bridle, SQLite, process"], found[DEFAULT]
    goals = [
        ("CPU a step at most 0.3 ms with durability process", process.best("median") / 1000, 0.3),
        ("CPU a step at most 0.6 ms with the default", power.best("median") / 1000, 0.6),
        ("last 40 steps within 1.3 times the first 40", power.best("last") / power.best("first"), 1.3),
        ("a capped turn at most 1.05 times an uncapped one", capped.best("median") / memory.best("median"), 1.05),
        ("MB kept, for a thousand steps", power.best("bytes_kept") / 1e6 * 1000 / steps, 3.0),
        ("MB written, for a thousand steps", power.best("bytes_written") / 1e6 * 1000 / steps, 30.0),
        *measured.counted(),
    ]
    if "agno, memory" in found:
        agno = found["agno, memory"].best("median")
        goals.append(("in memory no more than agno", memory.best("median") / agno, 1.0))
    for peer in found.values():
        if peer.durable and peer.needs:
            goals.append((f"CPU of {steps:,} steps, of {peer.name}'s", power.whole() / peer.whole(), 0.1))
            if peer.shorter:
                share = power.whole(shorter=True) / peer.whole(shorter=True)
                goals.append((f"CPU of {SHORTER} steps, of {peer.name}'s", share, 0.1))
    if OPENCODE in found and OURS in found:
        ours, theirs = found[OURS], found[OPENCODE]
        both = min(ours.reports[0]["steps"], theirs.reports[0]["steps"])
        goals += [
            ("start CPU, of OpenCode's", ours.best("start_cpu") / theirs.best("start_cpu"), 1 / 10),
            (f"CPU of {both} steps, of OpenCode's", until(ours, both) / until(theirs, both), 1 / 20),
            ("peak memory, of OpenCode's", ours.best("rss_mb") / theirs.best("rss_mb"), 1 / 8),
        ]
    lines = [f"- {'met' if is_ <= goal else 'MISSED'}: {name}: {is_:.3g} (goal {goal:g})" for name, is_, goal in goals]
    if "agno, memory" in found:
        here = found["agno, memory"].best("median") / AGNO_MICROSECONDS
        both = ", ".join(f"{each.best('median') / 1000 / here:.3g}" for each in (process, power))
        lines.append(
            f"\nThe goals in milliseconds were set where a step of agno takes {AGNO_MICROSECONDS:g} µs; "
            f"here it takes {here:.2f} times that. At that machine's speed a step takes {both} ms (process, default)."
        )
    return lines


def draw(measured: Measured, folder: Path) -> None:
    """Write the plots."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = [each for each in [*measured.contenders, *measured.commands] if each.name not in LEFT_OUT]
    looks = appearances([each.name for each in [*shown, *measured.streams]])

    def ranked(key: str) -> list[Contender]:
        return sorted(shown, key=lambda each: each.best(key))

    title, axis = "CPU of a step, against the length of the history", "steps in the history"
    note = "In process, the model answers at once; the commands over loopback HTTP, with tools of their own."
    costs = [Curve(*looks[each.name], each.curve()) for each in shown]
    (folder / "cpu.svg").write_text(curves(title, note, costs, duration, axis))
    note = "Seconds of CPU of all its processes, the interpreter and imports included."
    starts = [Bars(*looks[each.name], [each.best("start_cpu")]) for each in ranked("start_cpu")]
    (folder / "start.svg").write_text(bars("CPU from start to the first request", note, starts, "{:.2f} s"))
    note = "Resident MB of all its processes: at the first request, and (paler) at the most."
    memory = [Bars(*looks[each.name], [each.best("start_mb"), each.best("rss_mb")]) for each in ranked("rss_mb")]
    (folder / "memory.svg").write_text(bars("Memory", note, memory, "{:.0f}"))
    draw_growth(measured.growths, looks, folder)
    draw_streams(measured.streams, measured.pieces, looks, folder)


def appearances(names: list[str]) -> dict[str, tuple[str, str, bool]]:
    """How each is called and drawn; one package has one colour in all plots, whatever it keeps."""
    own = [name for name in names if name.lower().startswith("bridle")]
    packages = list(dict.fromkeys(name.partition(",")[0] for name in names if name not in own))
    palette = colours(own, packages)
    found = {}
    for name in names:
        # There is little room beside bars, and a plot shows either those that are watched or the others.
        label = name.replace(", power", "").removesuffix(", watched")
        found[name] = (label, palette[name if name in own else name.partition(",")[0]], name in own)
    return found


def duration(value: float) -> str:
    """Microseconds, for people."""
    return f"{value:g} µs" if value < 1_000 else f"{value / 1_000:g} ms" if value < 1e6 else f"{value / 1e6:g} s"


def told_growth(growths: list[Growth]) -> list[str]:
    """The section about the disk."""
    plots = {"kept": "Kept on the disk, against steps", "written": "Written to the disk, against steps"}
    return [
        "## Bytes against steps",
        "",
        "Separate runs, each measured after it was closed, in kB per step: linear growth has the same number in every",
        "column. There is one run of each length, since bytes hardly depend on the load of the machine.",
        "",
        *growth_table(growths),
        *(line for measure in measures(growths) for line in ("", f"![{plots[measure]}]({PLOTS}/{measure}.svg)")),
    ]


def told_streams(streams: list[Wired], pieces: int) -> list[str]:
    """The section about streamed text."""
    return [
        "## Streamed text",
        "",
        f"One reply of {pieces:,} pieces over loopback HTTP, in OpenAI's chat wire: the client's CPU from the bytes to",
        "the piece that the watching client gets, per piece, and the pieces per second of CPU. Together, the pieces",
        "share HTTP chunks; apart, each has its own. [benchmarks-http.md](benchmarks-http.md) has more, made by",
        "`bench/run http`.",
        "",
        *stream_table(streams, pieces),
        "",
        f"![CPU of a piece of streamed text]({PLOTS}/stream.svg)",
    ]


def told_commands(commands: list[Contender], rounds: int) -> list[str]:
    """The section about whole commands."""
    both = min((each.reports[0]["steps"] for each in commands), default=0)
    return [
        "## Whole commands",
        "",
        "Commands in a used home directory, against a model on loopback HTTP that makes them read a file line by",
        f"line with their own tool. CPU and memory are of all their processes, the best of {rounds} rounds in turn.",
        f"The goals below compare the first {both} steps of each.",
        "",
        *whole_table(commands),
        "",
        f"![CPU from start to the first request]({PLOTS}/start.svg)",
        "",
        f"![Memory]({PLOTS}/memory.svg)",
    ]


def page(measured: Measured, missing: list[str]) -> list[str]:
    """Everything that was measured, as Markdown."""
    machine = f"{platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    return [
        "# Benchmarks",
        "",
        f"Made by `bench/run costs` on {datetime.now(UTC):%Y-%m-%d}: {machine}.",
        f"{measured.steps} steps, {measured.how}.",
        "The table compares the overhead of one step: the model answers at once, inside the process. The start is the",
        "cost of the process until its first request, with its interpreter and its imports. The CPU of a step is the",
        "median of the CPU from one request to the next. *Whole* is the CPU of the whole run divided by its steps:",
        "with its start, its end and deferred work. langgraph writes its checkpoints in a thread that falls behind and",
        "continues after the last request, so whole conversations are compared below.",
        "",
        "- [comparison.md](comparison.md), made by `bench/run limits`, compares the behavior at the cap.",
        "- It also compares the behavior on loops, in the rows that begin with *loop*.",
        "",
        *table(measured.contenders, measured.steps),
        "",
        f"![CPU of a step, against the length of the history]({PLOTS}/cpu.svg)",
        "",
        *told_growth(measured.growths),
        "",
        *told_streams(measured.streams, measured.pieces),
        "",
        *told_commands(measured.commands, measured.command_rounds),
        "",
        "## Goals",
        "",
        *verdicts(measured),
        *missing,
        "",
    ]
