"""Compares how Bridle, OpenCode and Python frameworks keep limits: every row through every contender, as one page."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.contender import prepare
from bench.limits.play import play
from bench.limits.roster import BRIDLE, OPENCODE, PEERS, Compared
from bench.limits.rows import ROWS, Row
from bench.limits.short import play_here
from bench.starts import prepare_opencode

TOGETHER = 2


@dataclass(frozen=True)
class Cell:
    """What one contender did in one row."""

    verdict: str
    words: str
    version: str = ""

    def __str__(self) -> str:
        return f"**{self.verdict}**: {self.words}" if self.words else self.verdict


Cells = dict[tuple[str, str], Cell]


async def cell(contender: Compared, row: Row, short: bool) -> Cell:
    if contender.missing(row):
        return Cell("not offered", "")
    seen = await (play_here(row) if short and not row.crash else play(contender, row))
    passed, words = row.judge(seen)
    return Cell("pass" if passed else "FAIL", words, str((seen.outcome or {}).get("version", "")))


async def cells(contenders: list[Compared], rows: list[Row], *, short: bool) -> Cells:
    """Play everything, as many at a time as there are processors for it; short plays mostly wait, so all at once."""
    room, found = asyncio.Semaphore(len(rows) if short else TOGETHER), Cells()

    async def one(contender: Compared, row: Row) -> None:
        async with room:
            made = await cell(contender, row, short)
        print(f"{contender.name}: {row.name}: {made}", file=sys.stderr, flush=True)
        found[row.name, contender.name] = made

    await asyncio.gather(*(one(contender, row) for row in rows for contender in contenders))
    return found


def kept(path: Path | None) -> Cells:
    """Cells of earlier calls."""
    if path is None or not path.exists():
        return Cells()
    return {(row, name): Cell(*cell) for row, name, *cell in json.loads(path.read_text())}


def keep(path: Path, found: Cells) -> None:
    rows = [[*key, cell.verdict, cell.words, cell.version] for key, cell in found.items()]
    path.write_text(json.dumps(rows, indent=0))


def table(contenders: list[Compared], rows: list[Row], found: Cells) -> list[str]:
    heads = ["scenario", *(contender.name for contender in contenders)]
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    for row in rows:
        cells = [row.name, *(str(found[row.name, contender.name]) for contender in contenders)]
        lines.append("| " + " | ".join(cells) + " |")
    totals = ["**passed, of those offered**"]
    for contender in contenders:
        verdicts = [found[row.name, contender.name].verdict for row in rows]
        totals.append(f"{verdicts.count('pass')} of {len(rows) - verdicts.count('not offered')}")
    return [*lines, "| " + " | ".join(totals) + " |"]


def settings(contenders: list[Compared], found: Cells) -> list[str]:
    """By what each was limited, and what it does not offer."""
    lines = []
    for contender in contenders:
        versions = {cell.version for (_, name), cell in found.items() if name == contender.name and cell.version}
        lines += [f"### {contender.name} {', '.join(sorted(versions))}", ""]
        lines += [f"- {setting}: {words}" for setting, words in contender.offers.items()]
        lines += [f"- {setting}, not offered: {words}" for setting, words in contender.lacks.items()]
        lines.append("")
    return lines


def page(contenders: list[Compared], rows: list[Row], found: Cells, missing: list[str]) -> list[str]:
    machine = f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()} {platform.release()}"
    return [
        "# Comparison of limits",
        "",
        f"Made by `bench/run limits` on {datetime.now(UTC):%Y-%m-%d}: {machine}, Python {platform.python_version()}.",
        "Every contender gets the same scripted model over loopback HTTP, in OpenAI's chat wire, in a fresh folder",
        "and with its documented settings. A run that does not end is killed with all its processes, after the time",
        "or the number of requests in its cell. A text counts if the model or the contender wrote it, not if the",
        "caller has to: an exception is not a text. A missing feature is *not offered*, which is not a failure.",
        "",
        *table(contenders, rows, found),
        "",
        *missing,
        "## Criteria of the rows",
        "",
        *(f"- **{row.name}**: {row.criterion}" for row in rows),
        "",
        "## Settings of the contenders",
        "",
        *settings(contenders, found),
    ]


def enrolled(given: argparse.Namespace) -> tuple[list[Compared], list[str]]:
    """Who takes part, and who could not."""
    contenders, missing = [BRIDLE], []
    for peer in [] if given.without_peers or given.short else PEERS:
        problem = prepare_opencode() if peer is OPENCODE else prepare(peer)
        if problem:
            missing += [f"{peer.name} could not be installed: {problem}", ""]
        else:
            contenders.append(peer)
    return contenders, missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-peers", action="store_true", help="only Bridle")
    parser.add_argument("--short", action="store_true", help="only Bridle, in this process, without waits")
    parser.add_argument("--only", action="append", default=[], help="this contender; may be given again")
    parser.add_argument("--row", action="append", default=[], help="rows whose names hold this; may be given again")
    parser.add_argument("--keep", type=Path, help="a file of cells: those played now replace theirs, and all are shown")
    parser.add_argument("--write", type=Path, help="also write the page, as Markdown")
    given = parser.parse_args()
    contenders, missing = enrolled(given)
    chosen = [each for each in contenders if not given.only or each.name in given.only]
    rows = [row for row in ROWS if not given.row or any(part in row.name for part in given.row)]
    found = asyncio.run(cells(chosen, rows, short=given.short))
    before = kept(given.keep)
    if given.keep is not None:
        found = {**before, **found}
        keep(given.keep, found)
        rows = [row for row in ROWS if all((row.name, each.name) in found for each in contenders)]
    lines = page(contenders if given.keep else chosen, rows, found, missing)
    if before:
        lines.insert(
            lines.index("", 2),
            "Some rows were played again in a later call of the command, and the later result is shown.",
        )
    print("\n".join(lines))
    if given.write is not None:
        given.write.write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
