"""Measures the page in Chromium beside OpenCode's: opening a long session, and following steps as they stream."""

from __future__ import annotations

import argparse
import asyncio
import platform
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from playwright.async_api import Browser, async_playwright
from support.opencode_packages import VERSION

from bench.page.cost import Cost, median, opened
from bench.page.pages import FIRST, LAST, World, world

PAGE = Path("docs/evidence/benchmarks-page.md")
NAMES = ("bridle", "opencode")
HEAP_MEGABYTES = 60
ROWS = {
    "first_paint": "first paint, ms",
    "shown": "until the last words are shown, ms",
    "script": "script time, ms",
    "long_tasks": "long tasks",
    "long_task_time": "time in long tasks, ms",
    "elements": "elements in the document",
    "heap": "JS heap after GC, MB",
    "loaded": "loaded, uncompressed, MB",
}
Pair = dict[str, Cost]


async def opening(browser: Browser, there: World, session: str, rounds: int) -> Pair:
    """Open a session that has ended, in turns, with an empty cache."""
    found: dict[str, list[Cost]] = {name: [] for name in NAMES}
    for _ in range(rounds):
        for name in NAMES:
            async with there.context(browser, name) as context:
                watched = await opened(context, there.address(name, session), LAST)
                found[name].append(await watched.cost())
    return {name: median(costs) for name, costs in found.items()}


async def following(browser: Browser, there: World, name: str, steps: int) -> tuple[Cost, str]:
    """Show a session while a turn of this length streams; return its cost and the session."""
    session = there.begun()
    async with there.context(browser, name) as context:
        watched = await opened(context, there.address(name, session), FIRST)
        await watched.begin()
        there.prompt(session, there.model(steps), steps)
        await watched.page.get_by_text(LAST).last.wait_for()
        return await watched.cost(), session


async def measured(steps: int, many: int, rounds: int) -> tuple[Pair, Pair, Cost]:
    """Return the costs of opening, of following, and of following many steps on Bridle's page."""
    with tempfile.TemporaryDirectory(prefix="bridle-bench-") as folder:
        async with world(Path(folder)) as there, async_playwright() as playwright:
            chromium = shutil.which("chromium")
            browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            try:
                live: Pair = {}
                for name in NAMES:
                    live[name], session = await following(browser, there, name, steps)
                opens = await opening(browser, there, session, rounds)
                long, _ = await following(browser, there, "bridle", many)
            finally:
                await browser.close()
    return opens, live, long


def table(costs: Pair, rows: list[str]) -> str:
    """Return the costs of both pages."""
    lines = ["| | Bridle | OpenCode |", "| --- | ---: | ---: |"]
    for row in rows:
        ours, theirs = (getattr(costs[name], row) for name in NAMES)
        number = "{:,.1f}" if row in ("heap", "loaded") else "{:,.0f}"
        lines.append(f"| {ROWS[row]} | {number.format(ours)} | {number.format(theirs)} |")
    return "\n".join(lines)


def behind(costs: Pair, rows: list[str]) -> list[str]:
    """Return in what Bridle's page costs more."""
    return [ROWS[row] for row in rows if getattr(costs["bridle"], row) > getattr(costs["opencode"], row)]


def written(given: argparse.Namespace) -> tuple[str, bool]:
    opens, live, long = asyncio.run(measured(given.steps, given.many, given.rounds))
    whole = list(ROWS)
    running = ["script", "long_tasks", "long_task_time", "elements", "heap"]
    missed = [*behind(opens, whole), *behind(live, running)]
    heap = "met" if long.heap <= HEAP_MEGABYTES else "MISSED"
    ahead = f"MISSED: {', '.join(missed)}" if missed else "met"
    return (
        f"""# Benchmarks of the page

Made by `bench/run page` on {datetime.now(UTC):%Y-%m-%d}: {platform.machine()}, {platform.system()}, \
Python {platform.python_version()}, in Debian's Chromium through CDP.

Both pages show the same sessions of one `bridle serve` behind the same proxy, with an empty cache: Bridle's page by the
native API, and the page of OpenCode {VERSION} by OpenCode's API.

## Opening a session of {given.steps:,} steps

Medians of {given.rounds} rounds, in turns. {given.steps:,} steps, each with some Markdown and a call.

{table(opens, whole)}

## Following {given.steps:,} steps while they stream

{table(live, running)}

## Goals

- {ahead}: the page is ahead of OpenCode's in all rows
- {heap}: after {given.many:,} streamed steps the JS heap after GC is at most {HEAP_MEGABYTES} MB: {long.heap:.1f} MB, \
with {long.elements:,} elements, {long.long_tasks} long tasks and {long.script / given.many:.1f} ms of script a step
""",
        not missed and long.heap <= HEAP_MEGABYTES,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/run page", description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--many", type=int, default=2_000, help="streamed steps after which the heap is measured")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", action="store_true", help=f"write {PAGE}")
    given = parser.parse_args()
    text, met = written(given)
    sys.stdout.write(text)
    if given.keep:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
