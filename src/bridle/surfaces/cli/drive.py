"""A session driven in the foreground: shown as it goes, asked about in place, aborted by Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bridle.core.parts import Ask
from bridle.core.result import Result, result_of
from bridle.core.session import Session
from bridle.errors import JournalError, JournalFailed, LeaseLost
from bridle.runtime import Runtime
from bridle.surfaces.cli.lines import JsonLines
from bridle.surfaces.cli.text import TextLines, plain

Begin = Callable[[Runtime], Awaitable[tuple[str, str]]]


@dataclass(frozen=True)
class Shown:
    """How much is shown, and in which form."""

    format: Literal["text", "json"] = "text"
    level: Literal["info", "quiet"] = "info"


async def drive(directory: Path, begin: Begin, shown: Shown, *, trusted: bool = False) -> int:
    """Begin something, follow it to its end, and return the exit status."""
    runtime = Runtime.open(directory, trusted=trusted)
    lines = JsonLines(sys.stdout) if shown.format == "json" else TextLines(sys.stdout, sys.stderr, shown.level)
    for notice in runtime.notices:
        lines.notice(notice)
    session = ""
    try:
        session, prompt = await begin(runtime)
        lines.session(session)
        result = await _follow(runtime, session, prompt, lines)
        lines.result(result)
        return result.exit_status
    except (JournalFailed, LeaseLost) as error:
        lines.error(f"{error}. The turn has not ended; resume it with: bridle resume {session}")
        return 1
    finally:
        await _let_go(runtime)


async def _let_go(runtime: Runtime) -> None:
    try:
        await runtime.close()
    except JournalError as error:
        sys.stderr.write(f"bridle: {error}\n")


async def _follow(runtime: Runtime, session: str, prompt: str, lines: JsonLines | TextLines) -> Result:
    abort = _Aborting(runtime, session)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, abort.signalled)
    lines.begin(await runtime.load(session), prompt)
    try:
        while True:
            async for event in runtime.stream(session, prompt):
                lines.event(event)
            state = await runtime.load(session)
            result = result_of(state, prompt)
            if not await _ask_in_place(runtime, session, state, result):
                return result
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


class _Aborting:
    """The first signal aborts the turn and keeps everything; the second leaves at once."""

    def __init__(self, runtime: Runtime, session: str) -> None:
        self._runtime = runtime
        self._session = session
        self._task: asyncio.Task[None] | None = None

    def signalled(self) -> None:
        if self._task is not None:
            sys.exit(130)
        self._task = asyncio.get_running_loop().create_task(self._runtime.abort(self._session))


async def _ask_in_place(runtime: Runtime, session: str, state: Session, result: Result) -> bool:
    """On a terminal the question is put there and then; True if it was answered."""
    turn = state.running
    if result.reason != "paused" or turn is None or turn.start.on_ask != "person" or not sys.stdin.isatty():
        return False
    for ask in result.asks:
        await _put(runtime, session, ask)
    return True


async def _put(runtime: Runtime, session: str, ask: Ask) -> None:
    sys.stderr.write(f"\n? {plain(ask.text)}\n  {plain(ask.detail)}\n")
    while True:
        sys.stderr.write("  [o]nce, [a]lways, [r]eject (or r REASON): ")
        sys.stderr.flush()
        line = (await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)).strip()
        word, _, feedback = line.partition(" ")
        match word.lower():
            case "o" | "once":
                return await runtime.answer(session, ask.id, "once")
            case "a" | "always":
                return await runtime.answer(session, ask.id, "always")
            case "r" | "reject" | "":
                return await runtime.answer(session, ask.id, "reject", feedback)
