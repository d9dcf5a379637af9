"""What was measured of Bridle and its peers, as a page: tables, goals and plots."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path

from contender import Contender
from plots import Bars, Curve, bars, colours, curves

DEFAULT = "Bridle, SQLite, power (default)"
OURS = "bridle run"
OPENCODE = "opencode run"
AGNO_MICROSECONDS = 200.0
PLOTS = "benchmarks"
LEFT_OUT = ("Bridle, memory, capped", "Bridle, SQLite, process")
"""They lie next to others of ours in every plot."""


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def table(contenders: list[Contender]) -> list[str]:
    """Rows of what each costs, and how often the cost of Bridle's default that is."""
    heads = ["contender", "version", "CPU µs", "first 40", "last 40", "last/first", "of Bridle's", "MB kept", "written"]
    lines = [row([*heads, "start CPU s", "start MB", "peak MB"]), "| --- | --- " + "| ---: " * 10 + "|"]
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
    marks = sorted({mark for each in commands for mark, _ in each.reports[0]["curve"]})
    heads += [f"CPU ms to {mark:,}" for mark in marks]
    lines = [row(heads), "| --- | --- " + "| ---: " * (len(heads) - 2) + "|"]
    for each in commands:
        curve, steps = dict(each.reports[0]["curve"]), each.reports[0]["steps"]
        cells = [
            each.name,
            each.reports[0]["version"],
            f"{each.best('start_cpu'):.2f}",
            f"{each.best('start_mb'):.0f}",
            f"{each.best('rss_mb'):.0f}",
            f"{steps:,}",
            f"{each.best('median') / 1000:.1f}",
            f"{each.best('bytes_kept') / 1000 / max(1, steps):.1f}",
            *(f"{curve[mark] / 1000:.1f}" if mark in curve else "-" for mark in marks),
        ]
        lines.append(row(cells))
    return lines


def until(command: Contender, steps: int) -> float:
    """The CPU of a command's first steps."""
    curve = [(mark, cost) for mark, cost in command.reports[0]["curve"] if mark <= steps]
    return sum(cost * (mark - before) for (mark, cost), before in zip(curve, [0, *(m for m, _ in curve)], strict=False))


def verdicts(found: dict[str, Contender], steps: int) -> list[str]:
    """The goals of the project, each with what was measured."""
    memory, capped = found["Bridle, memory"], found["Bridle, memory, capped"]
    process, power = found["Bridle, SQLite, process"], found[DEFAULT]
    goals = [
        ("CPU a step at most 0.3 ms with durability process", process.best("median") / 1000, 0.3),
        ("CPU a step at most 0.6 ms with the default", power.best("median") / 1000, 0.6),
        ("last 40 steps within 1.3 times the first 40", power.best("last") / power.best("first"), 1.3),
        ("a capped turn at most 1.05 times an uncapped one", capped.best("median") / memory.best("median"), 1.05),
        ("MB kept, for a thousand steps", power.best("bytes_kept") / 1e6 * 1000 / steps, 3.0),
        ("MB written, for a thousand steps", power.best("bytes_written") / 1e6 * 1000 / steps, 30.0),
    ]
    if "agno, memory" in found:
        agno = found["agno, memory"].best("median")
        goals.append(("in memory no more than agno", memory.best("median") / agno, 1.0))
    for peer in found.values():
        if peer.durable and peer.needs:
            share = power.best("cpu_seconds") / peer.best("cpu_seconds")
            goals.append((f"a tenth of the CPU of {peer.name}", share, 0.1))
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


def draw(contenders: list[Contender], commands: list[Contender], folder: Path) -> None:
    """Write the plots."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = [each for each in [*contenders, *commands] if each.name not in LEFT_OUT]
    own = [each.name for each in shown if each.name.lower().startswith("bridle")]
    palette = colours(own, [each.name for each in shown if each.name not in own])

    def looks(each: Contender) -> tuple[str, str, bool]:
        return each.name.replace(", power", ""), palette[each.name], each.name in own

    def ranked(key: str) -> list[Contender]:
        return sorted(shown, key=lambda each: each.best(key))

    note = "In process, the model answers at once; the commands over loopback HTTP, with tools of their own."
    costs = [Curve(*looks(each), each.reports[0]["curve"]) for each in shown]
    (folder / "cpu.svg").write_text(curves("CPU of a step, against the length of the history", note, costs, duration))
    note = "Seconds of CPU of all its processes, the interpreter and imports included."
    starts = [Bars(*looks(each), [each.best("start_cpu")]) for each in ranked("start_cpu")]
    (folder / "start.svg").write_text(bars("CPU from start to the first request", note, starts, "{:.2f} s"))
    note = "Resident MB of all its processes: at the first request, and (paler) at the most."
    memory = [Bars(*looks(each), [each.best("start_mb"), each.best("rss_mb")]) for each in ranked("rss_mb")]
    (folder / "memory.svg").write_text(bars("Memory", note, memory, "{:.0f}"))


def duration(value: float) -> str:
    """Microseconds, for people."""
    return f"{value:g} µs" if value < 1_000 else f"{value / 1_000:g} ms" if value < 1e6 else f"{value / 1e6:g} s"


def page(contenders: list[Contender], commands: list[Contender], missing: list[str], steps: int, how: str) -> list[str]:
    """Everything that was measured, as Markdown."""
    machine = f"{platform.machine()}, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    return [
        "# Benchmarks",
        "",
        f"Made by `bench/run` on {datetime.now(UTC):%Y-%m-%d}: {machine}.",
        f"{steps} steps, {how}.",
        "What is compared is one step's overhead: the model answers at once, inside the process. The start is what the",
        "process took until its first request, its interpreter and its imports included.",
        "",
        *table(contenders),
        "",
        f"![CPU of a step, against the length of the history]({PLOTS}/cpu.svg)",
        "",
        "## Whole commands",
        "",
        "Commands in a home that was used before, against a model on loopback HTTP that has them read a file line by",
        "line with their own tool. CPU and memory are of all their processes.",
        "",
        *whole_table(commands),
        "",
        f"![CPU from start to the first request]({PLOTS}/start.svg)",
        "",
        f"![Memory]({PLOTS}/memory.svg)",
        "",
        "## Goals",
        "",
        *verdicts({each.name: each for each in [*contenders, *commands]}, steps),
        *missing,
        "",
    ]
