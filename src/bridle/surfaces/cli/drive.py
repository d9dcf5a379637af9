"""A session driven in the foreground: shown as it goes, asked about in place, aborted by Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bridle.core.events import Entry
from bridle.core.result import Result, result_of
from bridle.core.session import Session
from bridle.core.states import Ask
from bridle.errors import ConfigError, JournalError, JournalFailed, LeaseLost, NoSuchSession
from bridle.runtime import Runtime
from bridle.runtime.finding import interrupted_here
from bridle.runtime.keeping import prune_daily
from bridle.surfaces.cli.below import Below, ticking
from bridle.surfaces.cli.lines import JsonLines
from bridle.surfaces.cli.output import tell, tell_diff
from bridle.surfaces.cli.paper import paper
from bridle.surfaces.cli.text import TextLines

PAUSED = 5

Begin = Callable[[Runtime], Awaitable[tuple[str, str]]]


@dataclass(frozen=True)
class Shown:
    """How much is shown, and in which form."""

    format: Literal["text", "json"] = "text"
    level: Literal["info", "quiet"] = "info"
    tells_of_others: bool = False
    """Whether a person is told of turns that were interrupted here."""


async def drive(directory: Path, begin: Begin, shown: Shown, *, trusted: bool = False) -> int:
    """Begin something, follow it to its end, and return the exit status."""
    lines = JsonLines() if shown.format == "json" else TextLines(paper(quiet=shown.level == "quiet"))
    runtime: Runtime | None = None
    session = ""
    try:
        runtime = Runtime.open(directory, trusted=trusted)
        for notice in runtime.notices:
            lines.notice(notice)
        if shown.tells_of_others and sys.stderr.isatty():
            for other in await interrupted_here(runtime):
                lines.notice(f"a turn was interrupted here; go on with it by: bridle resume {other}")
        session, prompt = await begin(runtime)
        lines.session(session)
        top = await runtime.root(session)
        if top != session:
            # What becomes of a subagent concerns its tree, so the whole is driven on.
            runtime.resume(top)
        abort = _Aborting(runtime, session, prompt)
        with abort.listening():
            result = await _follow(runtime, session, prompt, lines, abort)
            lines.result(result)
            # Other people's prompts may wait behind ours: whoever holds the lease drives them too, in silence.
            abort.follow(top)
            await runtime.parked(session)
            rest = await runtime.parked(top)
        return PAUSED if top != session and rest in ("paused", "waiting") else result.exit_status
    except (JournalFailed, LeaseLost) as error:
        way_out = f". The turn has not ended; resume it with: bridle resume {session}" if session else ""
        lines.error(f"{error}{way_out}", "interrupted")
        return 1
    except (ConfigError, NoSuchSession) as error:
        lines.error(str(error), "error")
        return 2
    except JournalError as error:
        lines.error(str(error), "error")
        return 1
    finally:
        if runtime is not None:
            await _let_go(runtime)


async def _let_go(runtime: Runtime) -> None:
    for last in (prune_daily(runtime), runtime.close()):
        try:
            await last
        except (JournalError, OSError) as error:
            tell(f"bridle: {error}")


async def _follow(
    runtime: Runtime, session: str, prompt: str, lines: JsonLines | TextLines, abort: _Aborting
) -> Result:
    state = await runtime.load(session)
    lines.begin(state, prompt)
    below = Below(runtime, lines) if isinstance(lines, TextLines) else None
    while True:
        if isinstance(lines, TextLines) and below is not None:
            await _shown(runtime, session, prompt, state, lines, below)
        else:
            async for event in runtime.stream(session, prompt, state.sequence):
                lines.event(event)
        state = await runtime.load(session)
        result = result_of(state, prompt)
        if not _asked_here(state, result):
            return result
        for ask in result.asks:
            if not abort.wanted:
                await _put(runtime, session, ask, abort)


async def _shown(runtime: Runtime, session: str, prompt: str, state: Session, lines: TextLines, below: Below) -> None:
    """Show a turn and its subagents until it rests."""
    below.begin(state)
    try:
        async with ticking(lines):
            async for event in runtime.stream(session, prompt, state.sequence):
                if isinstance(event, Entry):
                    await below.ended(event)
                lines.event(event)
                if isinstance(event, Entry):
                    below.started(event)
    finally:
        await below.close()


class _Aborting:
    """The first signal aborts the turn and keeps everything; the second leaves at once."""

    def __init__(self, runtime: Runtime, session: str, prompt: str) -> None:
        self._runtime = runtime
        self._session = session
        self._prompt = prompt
        self._task: asyncio.Task[None] | None = None
        self.wanted = False
        self.meanwhile: Callable[[], object] | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Signals are ours until the end, also while the prompts of others are driven."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.signalled)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
                # Everything is recorded, and what is left to do is to leave: an impatient key must not tear that.
                signal.signal(number, signal.SIG_IGN)

    def follow(self, session: str) -> None:
        """Our own prompt has its result: from now on a signal ends whatever is driven here."""
        self._session, self._prompt = session, ""

    def signalled(self) -> None:
        if self._task is not None:
            # Nothing is lost: what is recorded can be resumed.
            os._exit(130)
        self.wanted = True
        if self.meanwhile is not None:
            self.meanwhile()
        self._task = asyncio.get_running_loop().create_task(self._abort())

    async def _abort(self) -> None:
        """End the turn of our own prompt; one that only waits behind another's turn is left waiting."""
        state = await self._runtime.load(self._session)
        if not self._prompt or self._prompt in state.prompts or self._runtime.drives(self._session):
            await self._runtime.abort(self._session)
            return
        tell(f"bridle: left; the prompt waits in session {self._session}")
        os._exit(130)


def _asked_here(state: Session, result: Result) -> bool:
    """On a terminal a question is put there and then."""
    turn = state.running
    return result.reason == "paused" and turn is not None and turn.start.on_ask == "person" and sys.stdin.isatty()


async def _put(runtime: Runtime, session: str, ask: Ask, abort: _Aborting) -> None:
    who = f" (subagent {ask.session})" if ask.session else ""
    tell(f"\n? {ask.text}{who}")
    if ask.diff:
        tell_diff(ask.diff, "  ")
    elif ask.detail:
        tell("  " + ask.detail.replace("\n", "\n  "))
    if ask.kind == "question":
        return await _put_question(runtime, session, ask, abort)
    while not abort.wanted:
        tell(f"  [o]nce, [a]lways{_wider(ask)}, [r]eject (r REASON tells the model why and goes on): ", end="")
        line = await _typed(abort)
        word, _, feedback = line.strip().partition(" ")
        match word.lower():
            case "o" | "once":
                return await runtime.answer(session, ask.id, "once")
            case "a" | "always":
                return await runtime.answer(session, ask.id, "always")
            case "r" | "reject":
                return await runtime.answer(session, ask.id, "reject", feedback)
        if not line and not abort.wanted:
            # The person closed the terminal's input: that is a no.
            return await runtime.answer(session, ask.id, "reject")
    return None


def _wider(ask: Ask) -> str:
    """What an always would let pass besides."""
    wider = ", ".join(access.always for access in ask.accesses if access.always)
    return f" ({wider})" if wider else " (exactly this)"


async def _put_question(runtime: Runtime, session: str, ask: Ask, abort: _Aborting) -> None:
    hint = f" (1 to {len(ask.choices)}, or your own words)" if ask.choices else ""
    tell(f"  your answer{hint}: ", end="")
    line = (await _typed(abort)).strip()
    if abort.wanted:
        return None
    if not line:
        return await runtime.answer(session, ask.id, "reject")
    return await runtime.answer(session, ask.id, "once", chosen(ask, line))


def chosen(ask: Ask, text: str) -> str:
    """What an answer to a question means: a number stands for its option."""
    return ask.choices[int(text) - 1] if text.isdecimal() and 0 < int(text) <= len(ask.choices) else text


def _finish(line: asyncio.Future[str], text: str) -> None:
    if not line.done():
        line.set_result(text)


async def _typed(abort: _Aborting) -> str:
    """A line from the terminal; empty at its end, or when the turn is aborted meanwhile."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def readable() -> None:
        loop.remove_reader(sys.stdin.fileno())
        _finish(line, os.read(sys.stdin.fileno(), 4096).decode(errors="replace"))

    loop.add_reader(sys.stdin.fileno(), readable)
    abort.meanwhile = lambda: _finish(line, "")
    try:
        return await line
    finally:
        abort.meanwhile = None
        loop.remove_reader(sys.stdin.fileno())
