"""Commands for one session: resume, answer, compact, abort, extend and show."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Literal, TypeVar, cast

import typer

from bridle.core.limits import Limit, LimitName, wrong_limit
from bridle.core.parts import (
    Call,
    Compaction,
    Extension,
    Notice,
    Patch,
    Prompt,
    Reasoning,
    Sentinel,
    StepStart,
    Text,
    TurnFinish,
)
from bridle.core.session import Session
from bridle.core.states import Ask, Asking, Waiting
from bridle.errors import ConfigError
from bridle.runtime import Runtime
from bridle.surfaces.cli.foreground import ForegroundView, chosen, drive
from bridle.surfaces.cli.limit_flags import given_flags, limit_flags
from bridle.surfaces.cli.output import say, tell_notices
from bridle.surfaces.shared.limit_levels import used_words

SessionId = Annotated[str, typer.Argument(help="A session, as `bridle sessions` lists them.")]
Format = Annotated[str, typer.Option(help="text or json.")]

Choice = Literal["once", "always", "reject"]
Result = TypeVar("Result")
LOOK_SECONDS = 0.1
ANSWER_LOOKS = 30


def _shown(format: str) -> ForegroundView:
    if format not in ("text", "json"):
        raise ConfigError(f"--format must be text or json, not {format!r}")
    return ForegroundView(cast(Literal["text", "json"], format))


def _last_prompt(session: Session) -> str:
    turn = session.turn
    if turn is not None and turn.prompts:
        return turn.prompts[-1]
    return ""


def resume(
    session: Annotated[str, typer.Argument(help="A session; without it, the one that was interrupted here.")] = "",
    format: Format = "text",
) -> None:
    """Go on with an interrupted turn, or with prompts that were held back.

    Example: bridle resume ses_01m7f61fgm8e25fmtbew1j8mk4
    """
    session = session or asyncio.run(with_runtime(Path(), _interrupted))

    async def work(runtime: Runtime) -> tuple[str, str]:
        top = await runtime.root(session)
        state = await runtime.load(top)
        waiting = await runtime.waiting_prompts(top)
        if state.running is None and not waiting:
            raise ConfigError(f"session {session} has nothing to resume: its last turn has finished")
        await runtime.resume(top)
        return top, _last_prompt(state) if state.running is not None else waiting[-1]

    sys.exit(asyncio.run(drive(_directory(session), work, _shown(format))))


async def _interrupted(runtime: Runtime) -> str:
    found = await runtime.interrupted()
    if not found:
        raise ConfigError("there is nothing to resume here")
    if len(found) > 1:
        raise ConfigError(f"several turns were interrupted here; say which: {', '.join(found)}")
    return found[0]


def answer(
    session: SessionId,
    ask: Annotated[str, typer.Argument(help="The id of the ask.")],
    choice: Annotated[str, typer.Argument(help="once, always or reject; to a question, the answer.")],
    feedback: Annotated[str, typer.Option(help="With reject: what the model is told, so that it goes on.")] = "",
    format: Format = "text",
) -> None:
    """Answer what a paused session or one of its subagents asks, and drive the whole on.

    Example: bridle answer SESSION 1.1.1.0.0.bash once
    """

    async def work(runtime: Runtime) -> tuple[str, str]:
        state = await runtime.load(session)
        asks = {held.id: held for held in state.running.asks} if state.running is not None else {}
        if ask not in asks:
            raise ConfigError(f"session {session} does not ask {ask!r} (open asks: {', '.join(asks) or 'none'})")
        top = await runtime.root(session)
        await runtime.answer(session, ask, *_said(asks[ask], choice, feedback))
        await runtime.resume(top)
        return top, _last_prompt(await runtime.load(top))

    sys.exit(asyncio.run(drive(_directory(session), work, _shown(format))))


def _said(ask: Ask, choice: str, feedback: str) -> tuple[Choice, str]:
    """Interpret an answer: a question takes any text, a permission `once`, `always` or `reject`."""
    if ask.kind == "question" and choice != "reject":
        return "once", chosen(ask, choice)
    if choice not in ("once", "always", "reject"):
        raise ConfigError(f"the choice must be once, always or reject, not {choice!r}")
    return cast(Choice, choice), feedback


def compact(session: SessionId) -> None:
    """Make a session's context smaller now: a summary takes the place of what lies behind.

    Example: bridle compact ses_01m7f61fgm8e25fmtbew1j8mk4
    """

    async def work(runtime: Runtime) -> None:
        before = await runtime.load(session)
        if not before.messages:
            raise ConfigError(f"session {session} is empty: there is nothing to compact")
        await runtime.compact(session)
        await runtime.parked(session)
        after = await runtime.load(session)
        compacted = [part for part in after.parts.values() if isinstance(part, Compaction) and part.outcome != "open"]
        if not compacted or compacted[-1].id in before.parts:
            if after.running is not None:
                say("asked for: it is done before the next step of the turn")
                return
            raise ConfigError(f"session {session} was not compacted: {_why(after)}")
        last = compacted[-1]
        smaller = f"compacted from about {last.before} to about {last.after} tokens"
        say(smaller if last.outcome == "smaller" else "not compacted: nothing to gain")

    asyncio.run(with_runtime(_directory(session), work))


def _why(state: Session) -> str:
    finish = state.turn.finish if state.turn is not None else None
    return finish.detail or finish.reason if finish is not None else "no turn has ended"


def abort(session: SessionId) -> None:
    """End the running turn, wherever it runs; everything so far is kept.

    Example: bridle abort ses_01m7f61fgm8e25fmtbew1j8mk4
    """

    async def work(runtime: Runtime) -> None:
        state = await runtime.load(session)
        if state.running is None:
            say(f"session {session} runs no turn")
            return
        await runtime.abort(session)
        await runtime.parked(session)
        say(f"session {session} is aborted")

    asyncio.run(with_runtime(_directory(session), work))


@limit_flags("session", "", lambda limit: f"More {limit.units}.")
def extend(session: SessionId, **limits: str | None) -> None:
    """Raise limits of the running turn, within the ceiling.

    Example: bridle extend SESSION --steps +25
    """
    raised = {limit.name: _more(limit, flag, text) for limit, flag, text in given_flags(limits, "")}
    if not raised:
        raise ConfigError("say what to extend, as in --steps +25")

    async def work(runtime: Runtime) -> None:
        if (await runtime.load(session)).running is None:
            raise ConfigError(f"session {session} runs no turn that could be extended")
        for name, by in raised.items():
            await _extend(runtime, session, name, by)

    asyncio.run(with_runtime(_directory(session), work))


async def _extend(runtime: Runtime, session: str, name: LimitName, by: float) -> None:
    extension = await runtime.extend(session, name, by)
    for _ in range(ANSWER_LOOKS):
        match await runtime.extended(session, extension):
            case Extension(by=given):
                say(f"{name} +{given:g}")
                return
            case Notice(text=text):
                raise ConfigError(text)
        await asyncio.sleep(LOOK_SECONDS)
    say(f"{name} +{by:g} is waiting: nobody drives the session now; it holds when the turn goes on")


def _more(limit: Limit, flag: str, text: str) -> float:
    try:
        value: float = int(text) if limit.whole else float(text)
    except ValueError:
        raise ConfigError(f"{flag} must be a number such as +25, not {text!r}") from None
    problem = wrong_limit(limit.name, value)
    if problem is not None or value == 0:
        raise ConfigError(f"{flag} {problem or 'must be more than 0'}")
    return value


def show(session: SessionId) -> None:
    """Print a session: its prompts, steps, calls, answers and endings.

    Example: bridle show ses_01m7f61fgm8e25fmtbew1j8mk4
    """

    async def work(runtime: Runtime) -> None:
        for part in (await runtime.load(session)).parts.values():
            line = _shown_part(part)
            if line:
                say(line)

    asyncio.run(with_runtime(Path(), work))


def _shown_part(part: object) -> str:
    match part:
        case Prompt(text=text):
            return f"\n> {text}"
        case StepStart(number=number, cap=cap):
            return f"step {number}/{cap}"
        case Text(text=text):
            return text
        case Reasoning(text=text):
            return f"  ({text})"
        case Call(name=name, arguments=arguments, state=state):
            word = type(state).__name__.lower()
            output = getattr(state, "output", "")
            asks = (state.ask,) if isinstance(state, Asking) else state.asks if isinstance(state, Waiting) else ()
            child = f" {state.child}" if isinstance(state, Waiting) else ""
            asked = "".join(f"\n    ? {ask.text}  [{ask.id}]" for ask in asks)
            return f"  {name} {arguments[:200]} [{word}{child}]" + (f"\n    {output[:300]}" if output else "") + asked
        case Notice(about=about, text=text):
            return f"! {text}" if about != "closing" else ""
        case Compaction(cause=cause, outcome="smaller", before=before, after=after):
            return "! old outputs removed" if cause == "prune" else f"! context compacted: {before} → {after} tokens"
        case Patch(files=files, more=more) if files:
            names = ", ".join(f"{each.path} (+{each.added} -{each.removed})" for each in files[:10])
            rest = len(files) - 10 + more
            return f"  ~ {names}" + (f" and {rest} more" if rest > 0 else "")
        case Sentinel(text=text):
            return f"■ {text}"
        case TurnFinish(reason=reason, spent=spent):
            return f"{reason}: {', '.join(used_words(spent))}"
    return ""


async def with_runtime(directory: Path, work: Callable[[Runtime], Awaitable[Result]]) -> Result:
    """Open the user's runtime, run `work` with it, and close it."""
    runtime = Runtime.open(directory)
    tell_notices(runtime.new_notices())
    try:
        return await work(runtime)
    finally:
        await runtime.close()


def _directory(session: str) -> Path:
    """Return the project of a session, so that the project's settings apply when it continues."""

    async def find() -> Path:
        runtime = Runtime.open()
        try:
            info = (await runtime.load(session)).info
        finally:
            await runtime.close()
        folder = Path(info.directory) if info is not None else Path()
        return folder if folder.is_dir() else Path()

    return asyncio.run(find())
