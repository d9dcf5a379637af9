"""The page about capacity: a model from the smaller sizes of a journal, checked against the largest one."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from bench.contender import row
from bench.postgres.capacity import RATE_STEPS, Growth, Size
from bench.postgres.fill import PATTERNS, RESULT_CHARACTERS, STEPS, TABLES, TURNS
from bench.postgres.operations import OPERATIONS

FAR = 100_000_000
"""Entries for which values are extrapolated."""
CONNECTIONS = 8
"""Of a worker process, at most: one writes, one listens, one keeps the leases, two read, three belong to the queue."""
MOST_CONNECTIONS = 97
"""What PostgreSQL's default of 100 leaves to roles that are no superusers."""


def kept(size: int) -> str:
    """A number of bytes, for people."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def predicted(sizes: Sequence[Size], entries: int) -> float:
    """The bytes of a journal by the line through the first two sizes."""
    first, second = sizes[0], sizes[1]
    each = (second.bytes - first.bytes) / (second.entries - first.entries)
    return first.bytes + each * (entries - first.entries)


def prose(*words: str) -> list[str]:
    """A paragraph, in lines, and the empty line after it."""
    return [*textwrap.wrap(" ".join(words), 118, break_on_hyphens=False, break_long_words=False), ""]


def points(*each: str, sign: str = "-") -> list[str]:
    """A list; with the sign "1." its points have numbers."""
    lines = []
    for number, words in enumerate(each, 1):
        begin = f"{number}. " if sign == "1." else f"{sign} "
        indent = " " * len(begin)
        lines += textwrap.wrap(
            words, 118, initial_indent=begin, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
        )
    return [*lines, ""]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [row(head), row(["---", *["---:"] * (len(head) - 1)]), *map(row, rows), ""]


def headed(sizes: Sequence[Size], what: str) -> list[str]:
    return [what, *(f"{size.entries:,} entries" for size in sizes)]


def size_lines(sizes: Sequence[Size]) -> list[str]:
    last = sizes[-1]
    entry, account, inbox = (last.tables[name] for name in ("entry", "account", "inbox"))
    model = ["" if at < 2 else kept(int(predicted(sizes, size.entries))) for at, size in enumerate(sizes)]
    rows = [
        ["sessions", *(f"{size.sessions:,}" for size in sizes), f"{last.sessions * FAR // last.entries:,}"],
        ["all tables and indexes", *(kept(size.bytes) for size in sizes), ""],
        ["the same by the model", *model, kept(int(predicted(sizes, FAR)))],
    ]
    for name in TABLES:
        whole = [each.tables[name].bytes + each.tables[name].indexes for each in sizes]
        rows.append([f"`{name}`", *map(kept, whole), kept(whole[-1] * FAR // last.entries)])
    return [
        "## Size",
        "",
        *prose(
            f"A session here has {TURNS} turns with {STEPS} tool calls each, whose results have {RESULT_CHARACTERS:,}",
            f"characters. It keeps {last.entries / last.sessions:.0f} rows in `entry`,",
            f"{account.rows / last.sessions:.0f} in `account`, {inbox.rows / last.sessions:.0f} in `inbox` and one in",
            f"`session`: {last.bytes / last.sessions / 1000:.0f} kB. An entry takes {entry.bytes / entry.rows:.0f}",
            f"bytes, and {entry.indexes / entry.rows:.0f} in the index. Text and results take what they have:",
            "PostgreSQL compresses only rows above 2 kB.",
        ),
        *table([*headed(sizes, "what"), f"{FAR:,} (extrapolated)"], rows),
        *prose(
            "The model is the line through the first two sizes; at the last one it is",
            f"{abs(predicted(sizes, last.entries) / last.bytes - 1):.1%} off.",
        ),
    ]


def operation_lines(sizes: Sequence[Size]) -> list[str]:
    rows = []
    for name in OPERATIONS:
        costs = [size.costs[name] for size in sizes]
        rows.append([name, *(f"{cost.milliseconds:.2f} / {cost.server:.2f} / {cost.scanned:,.0f}" for cost in costs)])
    return [
        "## Operations",
        "",
        *prose(
            "Milliseconds until the answer (the median, on a machine with other work), CPU milliseconds of the server,",
            "and rows that were read because a table was read whole. The CPU of all calls of an operation together is",
            "known to 10 ms.",
        ),
        *table(headed(sizes, "operation"), rows),
        *prose(
            "Appends, loads, leases, prompts, followers and the sweep find their rows by an index, and depend on the",
            "length of their session alone. Two operations grow with the number of sessions:",
        ),
        *points(
            "A list of sessions reads a row of each. A page does so on the server alone; the whole list, as in"
            " `bridle stats`, also takes CPU of the client.",
            "The reservations of all sessions are searched when a reservation finds no room in a day or a month.",
        ),
        *prose("An index for either would have to be written with every step, so there is none."),
    ]


def rate_lines(growth: Growth) -> list[str]:
    rates = [size.rate for size in growth.sizes]
    rows = [
        ["steps a second", *(f"{rate.steps_a_second:,.0f}" for rate in rates)],
        ["client CPU, ms a step", *(f"{rate.client:.2f}" for rate in rates)],
        ["server CPU, ms a step", *(f"{rate.server:.2f}" for rate in rates)],
    ]
    several = [
        [str(number), f"{rate.steps_a_second:,.0f}", f"{rate.client:.2f}", f"{rate.server:.2f}"]
        for number, rate in growth.processes.items()
    ]
    least = min([*rates, *growth.processes.values()], key=lambda rate: rate.client + rate.server)
    client, server = 1000 / max(least.client, 0.01), 1000 / max(least.server, 0.01)
    return [
        "## Steps",
        "",
        *prose(
            f"{growth.effort.sessions} sessions at once in one process, of {RATE_STEPS} steps each, with a model",
            "inside it:",
        ),
        *table(headed(growth.sizes, "what"), rows),
        *prose(f"Several processes with {growth.effort.shared} such sessions each, on one small journal:"),
        *table(["processes", "steps a second", "client CPU, ms a step", "server CPU, ms a step"], several),
        *prose(
            "All processes and the server shared this machine, so that more processes do not add steps here.",
            f"Extrapolated from the lowest CPU of a step ({least.client:.2f} ms and {least.server:.2f} ms): a",
            f"processor of a worker does {client:,.0f} steps a second, a processor of the server {server:,.0f}. If a",
            f"step of a real model takes 5 s, the latter are {server * 5:,.0f} sessions at work at once. Each step",
            "waits for one flush of the disk; one process flushes once for all steps that wait at the same time.",
        ),
    ]


def vacuum_lines(growth: Growth) -> list[str]:
    sizes = growth.sizes
    rows = [[f"`{name}`", *(f"{size.vacuum[name]:.2f} / {size.again[name]:.2f}" for size in sizes)] for name in TABLES]
    return [
        "## Vacuum",
        "",
        *prose("Seconds of `VACUUM (ANALYZE)` after the table was filled, and after the sessions of the steps above:"),
        *table(headed(sizes, "table"), rows),
        *prose(
            "Entries are never changed: vacuum visits only new pages of `entry`, so that the second time does not",
            "follow the size. Rows of `session` and `account` change with every append.",
            f"{growth.hot['account']:.0%} of the updates of `account` and {growth.hot['session']:.0%} of those of",
            "`session` touched no index, thanks to the room that their fill factors leave. Autovacuum's defaults did",
            "for all sizes here. Deleted sessions leave room that later ones use; the files do not shrink.",
        ),
    ]


def advice_lines(last: Size) -> list[str]:
    listing = last.costs["list all sessions"].milliseconds / 1000
    workers = MOST_CONNECTIONS // CONNECTIONS
    return [
        "## Connections",
        "",
        *prose(
            f"A worker takes at most {CONNECTIONS} connections: one writes, one listens, one keeps the leases, two",
            "read, three belong to the queue. Sessions take none. The default of `max_connections`, 100, carries",
            f"{workers} workers without other clients (computed);",
            "[benchmarks-postgres.md](benchmarks-postgres.md) has ten of them counted at work. More workers need a",
            "higher limit, or a pool of connections in `journal.url` and the server itself in `journal.listen_url`.",
        ),
        "## Larger than one server",
        "",
        *prose("Nothing in this section was measured."),
        *points(
            "**Partitions**: all queries on `entry` name a session, so a partition by the hash of `session` would serve"
            " them. It is of use when vacuum or the index of `entry` no longer fits a maintenance window, not for"
            " speed. Bridle creates no partitions.",
            "**Read replicas**: a follower only reads. PostgreSQL has no LISTEN on a standby, so that a follower there"
            " asks once a second, and sees entries as late as the replica has them. Everything else needs the primary.",
            "**Tenants in several databases**: sessions of different tenants share nothing but accounts that both pay"
            " into. Give each group of tenants a journal of its own, in another database or another `journal.schema`,"
            " with its own workers: a worker serves one journal. Budgets and lists end at the border of a journal.",
        ),
        "## What breaks first",
        "",
        *points(
            f"Whole lists: {last.sessions:,} sessions took {listing:.1f} s (measured), a million take"
            f" {listing / last.sessions * 1e6:,.0f} s (extrapolated). Turns do not list.",
            f"Connections, at {workers + 1} workers with the default of `max_connections` (computed).",
            "CPU of workers: a step costs them more than the server. Start more of them.",
            "A row that many pay into: a day or a month with a limit, shared by several workers. They write it in turn,"
            " and compute a batch again when another was first. Sessions without such a limit share no row.",
            "CPU of the server, then its disk:"
            f" {kept(last.bytes * 1_000_000 // last.sessions)} for a million sessions like these (extrapolated).",
            sign="1.",
        ),
    ]


def capacity_page(growth: Growth, head: list[str]) -> str:
    """Return the page, after the lines that say how it was made."""
    lines = [
        "# Capacity of a journal on PostgreSQL",
        "",
        *prose(
            *head,
            f"The journal was filled with copies of {PATTERNS} sessions that were really run; then sessions were",
            "driven on it. Values are measured unless they are marked as extrapolated or computed.",
        ),
        *size_lines(growth.sizes),
        *operation_lines(growth.sizes),
        *rate_lines(growth),
        *vacuum_lines(growth),
        *advice_lines(growth.sizes[-1]),
    ]
    return "\n".join(lines).rstrip() + "\n"
