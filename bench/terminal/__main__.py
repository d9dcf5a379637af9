"""What the terminal costs: CPU for each piece of an answer that streams, and for opening a session of many parts."""

from __future__ import annotations

import argparse
import asyncio
import io
import platform
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from bridle import Runtime, RuntimeConfig, ScriptedModel
from bridle.core.agent import AgentDefinition
from bridle.core.events import CallMoved, Entry, PartDelta, PartPut, Recorded, RequestMoved, SessionInfo, SessionPut
from bridle.core.fold import load
from bridle.core.limits import Limits, Spent
from bridle.core.parts import Call, Prompt, Request, StepFinish, StepStart, Text, TurnFinish, TurnStart
from bridle.core.states import Done, Replied, Running, Usage
from bridle.surfaces.cli.screen import Screen
from bridle.surfaces.tui.app import BridleApp
from bridle.surfaces.tui.streamed_text import WordsView

PAGE = Path("docs/evidence/benchmarks-terminal.md")
DELTAS = 20_000
PARTS = 5_000
SIZE = (140, 44)
PACE = 1_000
"""Pieces a second: several times what the fastest models send."""
AT_ONCE = 20
PIECES = ("Some ", "words ", "of ", "an **answer** ", "that ", "goes ", "on.\n\n", "- and a list\n", "`code` ", "more ")
OPEN_SECONDS = 1.0
"""What opening a session of so many parts may take."""


class Terminal(io.StringIO):
    """Somewhere to write to, for what it costs to write it."""

    def isatty(self) -> bool:
        return True


def pieces(number: int) -> list[tuple[int, str]]:
    """An answer in pieces, each with its place."""
    found, place = [], 0
    for each in range(number):
        words = PIECES[each % len(PIECES)]
        found.append((place, words))
        place += len(words)
    return found


def long_session(parts: int) -> list[Entry]:
    """A session of one long turn: in each step some words and a call."""
    entries: list[Entry] = []

    def put(*events: Recorded) -> None:
        entries.append(Entry(len(entries) + 1, 0.0, 0.0, events))

    put(SessionPut(SessionInfo("ses_long", "/")))
    put(PartPut(TurnStart("1.start", 1, "build", "m", 5_000, Limits(), "deny")), PartPut(Prompt("p", "go", turn=1)))
    for step in range(1, parts // 5 + 1):
        request, words, call = f"1.{step}.1", f"1.{step}.1.text", f"1.{step}.1.0.0"
        put(PartPut(StepStart(f"1.{step}.start", step, 5_000)), PartPut(Request(request, "step", step, 1, "m")))
        put(PartPut(Text(words, f"Step **{step}** looks at `file{step}.py`.")))
        put(PartPut(Call(call, "read", f'{{"filePath": "file{step}.py"}}', "d")))
        put(RequestMoved(request, Replied(Usage(10, 10))), PartPut(StepFinish(f"1.{step}.finish", step, 1)))
        put(CallMoved(call, Running()))
        put(CallMoved(call, Done("line of output\n" * 40, "d")))
    put(PartPut(TurnFinish("1.finish", 1, "answered", Spent(parts // 5), Usage())))
    return entries


async def seated(work: Callable[[BridleApp], Awaitable[None]]) -> None:
    runtime = Runtime(RuntimeConfig(models={"m": ScriptedModel([])}, agents=[AgentDefinition("build", model="m")]))
    async with runtime:
        app = BridleApp(runtime, await runtime.create("ses_one"))
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            await work(app)
            await pilot.pause()


async def streamed(deltas: int) -> tuple[float, float, float]:
    """CPU µs a piece in the application, and the MB of its process after the first half and at the end."""
    memory: list[float] = []
    spent = 0.0

    async def work(app: BridleApp) -> None:
        nonlocal spent
        transcript = app.chat.transcript
        turn = (TurnStart("1.start", 1, "build", "m", 5, Limits(), "deny"), StepStart("1.1.start", 1, 5))
        for part in (*turn, Request("1.1.1", "step", 1, 1, "m")):
            await transcript.take(Entry(transcript.session.sequence + 1, 0.0, 0.0, (PartPut(part),)))
        begun = time.process_time()
        for number, (place, words) in enumerate(pieces(deltas), 1):
            await app.chat.transcript.take(PartDelta("1.1.1.0.text", place, words, "text"))
            if number % AT_ONCE == 0:
                # The screen is drawn meanwhile.
                await asyncio.sleep(AT_ONCE / PACE)
            if number % (deltas // 2) == 0:
                memory.append(megabytes())
        await asyncio.sleep(0.3)
        spent = time.process_time() - begun
        shown = sum(view.length for view in transcript.query(WordsView))
        assert shown == sum(len(words) for _, words in pieces(deltas)), "the pieces are not shown"

    await seated(work)
    return spent / deltas * 1e6, memory[0], memory[1]


async def printed(deltas: int) -> float:
    """CPU µs a piece in `bridle run`."""
    terminal = Terminal()
    screen = Screen(terminal, terminal, quiet=False)
    begun = time.process_time()
    for number, (_, words) in enumerate(pieces(deltas), 1):
        screen.words(words)
        if number % AT_ONCE == 0:
            await asyncio.sleep(AT_ONCE / PACE)
    screen.end_words()
    return (time.process_time() - begun) / deltas * 1e6


async def opened(parts: int) -> tuple[int, float]:
    """How many parts there are, and CPU seconds from the journal's entries to the screen."""
    entries = long_session(parts)
    spent, there = 0.0, 0

    async def work(app: BridleApp) -> None:
        nonlocal spent, there
        begun = time.process_time()
        session = load(entries)
        await app.chat.transcript.open(session)
        await asyncio.sleep(0.3)
        spent, there = time.process_time() - begun, len(session.parts)

    await seated(work)
    return there, spent


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def page(deltas: int, parts: int) -> tuple[str, bool]:
    each, half, whole = asyncio.run(streamed(deltas))
    run = asyncio.run(printed(deltas))
    there, seconds = asyncio.run(opened(parts))
    met = seconds < OPEN_SECONDS
    return (
        f"""# Benchmarks of the terminal

Made by `bench/run terminal` on {datetime.now(UTC):%Y-%m-%d}: {platform.machine()}, {platform.system()}, \
Python {platform.python_version()}.

| measurement | |
| --- | ---: |
| {deltas:,} pieces of an answer in `bridle`, {PACE:,} a second, CPU µs each, at {SIZE[0]} x {SIZE[1]} | {each:.0f} |
| memory of its process after half of them, MB | {half:.0f} |
| memory after all of them, MB | {whole:.0f} |
| the same pieces through `bridle run` on a terminal, CPU µs each | {run:.0f} |
| opening a session of {there:,} parts, CPU seconds | {seconds:.2f} |

- {"met" if met else "MISSED"}: a session of {there:,} parts opens within {OPEN_SECONDS:g} s of CPU
""",
        met,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deltas", type=int, default=DELTAS)
    parser.add_argument("--parts", type=int, default=PARTS)
    parser.add_argument("--keep", action="store_true", help=f"write {PAGE}")
    given = parser.parse_args()
    text, met = page(given.deltas, given.parts)
    sys.stdout.write(text)
    if given.keep:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
