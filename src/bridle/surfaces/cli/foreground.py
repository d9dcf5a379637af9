"""Follows the turn of `run`, `resume` and `answer` to its exit status: asks its questions, aborts it on Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager, nullcontext
from typing import Literal, NamedTuple, get_args

from bridle.core.events import Entry, Live
from bridle.core.result import Result, answers, result_of
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Ask
from bridle.errors import ConfigError, JournalError, JournalFailed, LeaseLost, NoSuchSession
from bridle.runtime.project import Backend
from bridle.runtime.sessions import MOST_LOOKED_AT
from bridle.surfaces.cli.json_lines import JsonLines
from bridle.surfaces.cli.output import tell, tell_change
from bridle.surfaces.cli.subagents import SubagentViews
from bridle.surfaces.cli.text import TextLines
from bridle.surfaces.cli.writer import output_writer

PAUSED = 5
LOOK_AGAIN_SECONDS = 0.5


class Begun(NamedTuple):
    """A prompt whose turn is to be followed, and the state of its session before anything was done."""

    session: str
    prompt: str
    before: Session
    answered: str = ""
    """The ask that was answered."""


Begin = Callable[[Backend], Awaitable[Begun]]
Choice = Literal["once", "always", "reject"]
CHOICES: dict[str, Choice] = {
    **{word: choice for choice in get_args(Choice) for word in (choice, choice[0])},
    **dict.fromkeys(("y", "yes"), "once"),
    **dict.fromkeys(("n", "no"), "reject"),
}
"""Answers to a permission request, as words and as letters; yes means once."""


async def drive(
    opening: AbstractAsyncContextManager[Backend],
    begin: Begin,
    *,
    json: bool,
    quiet: bool = False,
    tells_of_others: bool = False,
) -> int:
    """Start a turn with `begin`, follow it to its end, and return the exit status.

    `tells_of_others` mentions other interrupted turns of this directory.
    """
    lines = JsonLines() if json else TextLines(output_writer(quiet=quiet))
    session = ""
    try:
        async with opening as backend:
            for notice in backend.new_notices():
                lines.notice(notice)
            if tells_of_others and sys.stderr.isatty():
                for other in await backend.interrupted(most=MOST_LOOKED_AT):
                    lines.notice(f"a turn was interrupted here; continue it with: bridle resume {other}")
            begun = await begin(backend)
            session = begun.session
            return await _driven(backend, begun, lines)
    except (JournalFailed, LeaseLost) as error:
        way_out = f". The turn has not ended; resume it with: bridle resume {session}" if session else ""
        lines.error(f"{error}{way_out}", "interrupted")
        return 1
    except (ConfigError, JournalError) as error:
        lines.error(str(error), "error")
        return 2 if isinstance(error, (ConfigError, NoSuchSession)) else 1


async def _driven(backend: Backend, begun: Begun, lines: JsonLines | TextLines) -> int:
    """Follow the turn of a prompt, and return the exit status."""
    session = begun.session
    lines.session(session)
    if missing := await backend.worker_notice(session):
        lines.notice(missing)
    top = await backend.root(session)
    if top != session:
        # A subagent's result affects its whole tree, so the tree is driven.
        await backend.resume(top)
    abort = _Aborting(backend, session, begun.prompt)
    with abort.listening():
        result = await _follow(backend, begun, lines, abort)
        lines.result(result)
        # Prompts of others may wait behind ours: the lease holder drives them too, without output.
        abort.follow(top)
        await backend.parked(session)
        await backend.parked(top)
        is_open = top != session and (await backend.load(top)).running is not None
    return PAUSED if is_open else result.exit_status


async def _follow(runtime: Backend, begun: Begun, lines: JsonLines | TextLines, abort: _Aborting) -> Result:
    """Show a turn to its end. On a terminal, ask each question once, as soon as it comes up."""
    session, prompt = begun.session, begun.prompt
    lines.begin(begun.before, prompt)
    below = SubagentViews(runtime, lines) if isinstance(lines, TextLines) else None
    put = {begun.answered}

    def asked() -> list[Ask]:
        turn = lines.shown.running if answers(lines.shown, prompt) and not abort.wanted else None
        return [ask for ask in turn.asks if ask.id not in put] if turn is not None and _person_is_here(turn) else []

    while True:
        async with aclosing(runtime.stream(session, prompt, lines.shown.sequence)) as events:
            await _show(events, asked, lines, below)
        open_asks = asked()
        if not open_asks:
            state = await runtime.load(session)
            result = result_of(state, prompt)
            if result.reason != "paused" or state.running is None or not _person_is_here(state.running):
                return result
            # The turn is blocked: the open asks were not answered by the earlier answers.
            open_asks = list(result.asks)
        for ask in open_asks:
            put.add(ask.id)
            if not abort.wanted:
                await _put_while_it_goes_on(runtime, session, prompt, ask, lines, abort=abort)


async def _show(
    events: AsyncIterator[Entry | Live],
    asked: Callable[[], list[Ask]],
    lines: JsonLines | TextLines,
    below: SubagentViews | None,
) -> None:
    """Show a turn, with its subagents if they are followed, until it stops or asks."""
    async with below.following(lines.shown) if below is not None else nullcontext():
        async for event in events:
            if below is not None and isinstance(event, Entry):
                await below.ended(event)
            lines.event(event)
            if below is not None and isinstance(event, Entry):
                below.started(event)
            if isinstance(event, Entry) and asked():
                break


async def _put_while_it_goes_on(
    runtime: Backend, session: str, prompt: str, ask: Ask, lines: JsonLines | TextLines, *, abort: _Aborting
) -> None:
    """Ask a question while the tree continues; the end of the turn withdraws the question."""
    # Discard input that was typed before the question appeared.
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    putting = asyncio.create_task(_put(runtime, session, ask, abort))
    ending = asyncio.create_task(_ended(runtime, session, prompt))
    try:
        await asyncio.wait([putting, ending], return_when=asyncio.FIRST_COMPLETED)
        if putting.done():
            putting.result()
        else:
            ending.result()
            lines.notice("the turn has ended, so this needs no answer anymore")
    finally:
        putting.cancel()
        ending.cancel()
        await asyncio.wait([putting, ending])


async def _ended(runtime: Backend, session: str, prompt: str) -> None:
    while not (await runtime.wait(session, prompt)).ended:
        await asyncio.sleep(LOOK_AGAIN_SECONDS)


class _Aborting:
    """Signal handling: the first signal aborts the turn and keeps its record; the second exits at once."""

    def __init__(self, runtime: Backend, session: str, prompt: str) -> None:
        self._runtime = runtime
        self._session = session
        self._prompt = prompt
        self._task: asyncio.Task[None] | None = None
        self.wanted = False
        self.meanwhile: Callable[[], object] | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle signals until the end, also while prompts of others are driven."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.signalled)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
                # Everything is recorded and only the exit is left: another Ctrl-C must not interrupt it.
                signal.signal(number, signal.SIG_IGN)

    def follow(self, session: str) -> None:
        """Abort this session on the next signal, after our own prompt has its result."""
        self._session, self._prompt = session, ""

    def signalled(self) -> None:
        if self._task is not None:
            # Nothing is lost: the recorded turn can be resumed.
            os._exit(130)
        self.wanted = True
        if self.meanwhile is not None:
            self.meanwhile()
        self._task = asyncio.get_running_loop().create_task(self._abort())

    async def _abort(self) -> None:
        """Abort the turn of our own prompt; a prompt that waits behind another turn is left waiting."""
        state = await self._runtime.load(self._session)
        if not self._prompt or self._prompt in state.prompts or self._runtime.drives(self._session):
            await self._runtime.abort(self._session)
            return
        tell(f"bridle: left; the prompt waits in session {self._session}")
        os._exit(130)


def _person_is_here(turn: OpenTurn) -> bool:
    """Return whether the turn's questions can be asked on this terminal."""
    return turn.start.on_ask == "person" and sys.stdin.isatty()


async def _put(runtime: Backend, session: str, ask: Ask, abort: _Aborting) -> None:
    who = f" (subagent {ask.session})" if ask.session else ""
    tell(f"\n? {ask.text}{who}")
    if ask.diff:
        tell_change(ask.diff, "  ")
    elif ask.detail:
        tell("  " + ask.detail.replace("\n", "\n  "))
    if ask.kind == "question":
        return await _put_question(runtime, session, ask, abort)
    while not abort.wanted:
        tell(
            f"  [o]nce, [a]lways{_wider(ask)}, [r]eject (r REASON gives the model a reason, and it continues): ", end=""
        )
        line = await _typed(abort)
        word, _, feedback = line.strip().partition(" ")
        # End of input counts as a rejection.
        choice = CHOICES.get(word.lower()) if line or abort.wanted else "reject"
        if choice is not None:
            return await runtime.answer(session, ask.id, choice, feedback if choice == "reject" else "")
    return None


def _wider(ask: Ask) -> str:
    """Return the patterns that an "always" would allow."""
    wider = ", ".join(access.always for access in ask.accesses if access.always)
    return f" ({wider})" if wider else " (exactly this)"


async def _put_question(runtime: Backend, session: str, ask: Ask, abort: _Aborting) -> None:
    hint = f" (1 to {len(ask.choices)}, or your own words)" if ask.choices else ""
    tell(f"  your answer{hint}: ", end="")
    line = (await _typed(abort)).strip()
    if abort.wanted:
        return None
    if not line:
        return await runtime.answer(session, ask.id, "reject")
    return await runtime.answer(session, ask.id, "once", chosen(ask, line))


def chosen(ask: Ask, text: str) -> str:
    """Return the answer to a question: a number selects an option, other text is the answer itself."""
    return ask.choices[int(text) - 1] if text.isdecimal() and 0 < int(text) <= len(ask.choices) else text


def _finish(line: asyncio.Future[str], text: str) -> None:
    if not line.done():
        line.set_result(text)


async def _typed(abort: _Aborting) -> str:
    """Read a line from the terminal; empty at end of input or if the turn is aborted."""
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
