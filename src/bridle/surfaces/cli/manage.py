"""Commands for one session: `bridle resume`, `answer`, `compact`, `abort`, `extend` and `show`."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated, cast

import typer

from bridle.core import parts
from bridle.core.ids import names_ask
from bridle.core.limits import LimitName
from bridle.core.session import Session
from bridle.core.states import Ask, Asking, Waiting
from bridle.errors import ConfigError
from bridle.runtime import Runtime
from bridle.runtime.argument_checks import fitting
from bridle.runtime.project import Backend
from bridle.runtime.sessions import MOST_LOOKED_AT
from bridle.surfaces.cli import completion
from bridle.surfaces.cli.commands import (
    Format,
    Formats,
    LastSession,
    in_project,
    in_project_sessions,
    session_and_project,
    with_sessions,
)
from bridle.surfaces.cli.foreground import CHOICES, Begin, Begun, Choice, chosen, drive
from bridle.surfaces.cli.limit_flags import given_limits, limit_flags
from bridle.surfaces.cli.output import say
from bridle.surfaces.cli.remote import Attach, SessionsPlace, TokenFile
from bridle.surfaces.cli.session_ids import named_session
from bridle.surfaces.shared.limit_levels import used_words

LOOK_SECONDS = 0.1
ANSWER_LOOKS = 30
CHOOSE = completion.words("once", "always", "reject")
ANSWER_USAGE = "bridle answer [SESSION] [ASK] CHOICE"


def _drive(session: str, begin: Begin, format: str, place: SessionsPlace) -> None:
    fitting("--format", format, Formats)
    place.check()
    directory = session_and_project(session)[1] if place.url is None else ""
    sys.exit(asyncio.run(drive(place.opened(directory, pruning=True), begin, json=format == "json")))


def _last_prompt(session: Session) -> str:
    return session.turn.prompts[-1] if session.turn is not None and session.turn.prompts else ""


def resume(
    session: Annotated[
        str,
        typer.Argument(
            help="Session id; without it, the session interrupted here.", autocompletion=completion.sessions
        ),
    ] = "",
    format: Format = "text",
    attach: Attach = None,
    token_file: TokenFile = None,
) -> None:
    """Continue an interrupted turn, or prompts that were held back.

    Example: bridle resume ses_01m7f61fgm8e25fmtbew1j8mk4
    """
    place = SessionsPlace(attach, token_file)
    session = session or asyncio.run(_interrupted(place))

    async def work(runtime: Backend) -> Begun:
        top = await runtime.root(await named_session(runtime, session))
        state = await runtime.load(top)
        waiting = await runtime.waiting_prompts(top)
        if state.running is None and not waiting:
            raise ConfigError(f"session {session} has nothing to resume: its last turn has finished")
        await runtime.resume(top)
        return Begun(top, _last_prompt(state) if state.running is not None else waiting[-1], state)

    _drive(session, work, format, place)


async def _interrupted(place: SessionsPlace) -> str:
    async with place.opened() as runtime:
        found = await runtime.interrupted(most=MOST_LOOKED_AT)
    if not found:
        raise ConfigError("there is nothing to resume here")
    if len(found) > 1:
        raise ConfigError(f"several turns were interrupted here; name one of these sessions: {', '.join(found)}")
    return found[0]


def answer(
    session: LastSession = "",
    ask: Annotated[
        str, typer.Argument(help="Id of the request; without it, the only open one.", autocompletion=CHOOSE)
    ] = "",
    choice: Annotated[
        str,
        typer.Argument(
            help="once (or y), always, or reject (or n); for a question, the answer.", autocompletion=CHOOSE
        ),
    ] = "",
    feedback: Annotated[str, typer.Option(help="With reject: a reason for the model, which then continues.")] = "",
    format: Format = "text",
    attach: Attach = None,
    token_file: TokenFile = None,
) -> None:
    """Answer a permission request or question of a paused session or its subagents, and continue the session.

    Examples: bridle answer yes; bridle answer SESSION 1.1.1.0.0.bash once
    """
    session, named, choice = _answered(session, ask, choice)

    async def work(runtime: Backend) -> Begun:
        found = await named_session(runtime, session)
        state = await runtime.load(found)
        ask = _meant(found, state, named)
        top = await runtime.root(found)
        before = await runtime.load(top)
        await runtime.answer(found, ask.id, *_said(ask, choice, feedback))
        await runtime.resume(top)
        return Begun(top, _last_prompt(before), before, answered=ask.id)

    _drive(session, work, format, SessionsPlace(attach, token_file))


def _answered(session: str, ask: str, choice: str) -> tuple[str, str, str]:
    """Return session, ask and choice, of which the first two may have been left out. Raises `ConfigError`."""
    if choice:
        return session, ask, choice
    *names, choice = [word for word in (session, ask) if word] or [""]
    asks = [word for word in names if names_ask(word)]
    sessions = [word for word in names if word not in asks]
    if not choice or len(asks) > 1 or len(sessions) > 1:
        raise ConfigError(f"give one answer, in quotes if it has several words: {ANSWER_USAGE}")
    return "".join(sessions), "".join(asks), choice


def _meant(session: str, state: Session, named: str) -> Ask:
    """Return the open ask with this id, or without an id the only one. Raises `ConfigError`."""
    asks = {held.id: held for held in state.running.asks} if state.running is not None else {}
    if named and named not in asks:
        raise ConfigError(f"session {session} does not ask {named!r} (open asks: {', '.join(asks) or 'none'})")
    if not asks:
        raise ConfigError(f"session {session} asks nothing")
    if not named and len(asks) > 1:
        raise ConfigError(f"session {session} asks {len(asks)} things; name one: {', '.join(asks)}")
    return asks[named] if named else next(iter(asks.values()))


def _said(ask: Ask, choice: str, feedback: str) -> tuple[Choice, str]:
    """Interpret an answer: a question takes any text, a permission `once`, `always` or `reject`."""
    if ask.kind == "question" and choice != "reject":
        return "once", chosen(ask, choice)
    return CHOICES.get(choice.lower()) or cast(Choice, fitting("the choice", choice, Choice)), feedback


@in_project
async def compact(runtime: Runtime, session: LastSession = "") -> None:
    """Compact a session's context now: replace the history by a summary.

    Example: bridle compact ses_01m7f61fgm8e25fmtbew1j8mk4
    """
    before = await runtime.load(session)
    if not before.messages:
        raise ConfigError(f"session {session} is empty: there is nothing to compact")
    await runtime.compact(session)
    await runtime.parked(session)
    after = await runtime.load(session)
    done = [part for part in after.parts.values() if isinstance(part, parts.Compaction) and part.outcome != "open"]
    if done and done[-1].id not in before.parts:
        smaller = f"compacted from about {done[-1].before} to about {done[-1].after} tokens"
        say(smaller if done[-1].outcome == "smaller" else "not compacted: nothing to gain")
    elif after.running is not None:
        say("requested: the running turn compacts before its next step")
    else:
        raise ConfigError(f"session {session} was not compacted: {_why(after)}")


def _why(state: Session) -> str:
    finish = state.turn.finish if state.turn is not None else None
    return finish.detail or finish.reason if finish is not None else "no turn has ended"


@in_project_sessions
async def abort(runtime: Backend, session: LastSession = "") -> None:
    """Abort the running turn, in whichever process it runs; its record is kept.

    Example: bridle abort ses_01m7f61fgm8e25fmtbew1j8mk4
    """
    if (await runtime.load(session)).running is None:
        say(f"session {session} runs no turn")
        return
    await runtime.abort(session)
    await runtime.parked(session)
    say(f"session {session} is aborted")


@limit_flags("session", "", lambda limit: f"More {limit.units}.")
@in_project
async def extend(runtime: Runtime, session: LastSession = "", **limits: str | None) -> None:
    """Raise limits of the running turn, up to the ceiling.

    Example: bridle extend SESSION --steps +25
    """
    raised = given_limits(limits, "")
    if not raised or not all(raised.values()):
        raise ConfigError("give a limit and how much to add, which must be more than 0, as in --steps +25")
    if (await runtime.load(session)).running is None:
        raise ConfigError(f"session {session} runs no turn that could be extended")
    for name, by in raised.items():
        await _extend(runtime, session, name, by)


async def _extend(runtime: Runtime, session: str, name: LimitName, by: float) -> None:
    extension = await runtime.extend(session, name, by)
    for _ in range(ANSWER_LOOKS):
        match await runtime.extended(session, extension):
            case parts.Extension(by=given):
                say(f"{name} +{given:g}")
                return
            case parts.Notice(text=text):
                raise ConfigError(text)
        await asyncio.sleep(LOOK_SECONDS)
    say(f"{name} +{by:g} is waiting: no process drives the session now; it applies when the turn continues")


@with_sessions
async def show(runtime: Backend, session: LastSession = "") -> None:
    """Print a session: its prompts, steps, calls, answers and endings.

    Example: bridle show ses_01m7f61fgm8e25fmtbew1j8mk4
    """
    for part in (await runtime.load(session)).parts.values():
        if line := _shown_part(part):
            say(line)


def _shown_part(part: object) -> str:
    match part:
        case parts.Prompt(text=text):
            return f"\n> {text}"
        case parts.StepStart(number=number, cap=cap):
            return f"step {number}/{cap}"
        case parts.Text(text=text):
            return text
        case parts.Reasoning(text=text):
            return f"  ({text})"
        case parts.Call(name=name, arguments=arguments, state=state):
            word = type(state).__name__.lower()
            output = getattr(state, "output", "")
            asks = (state.ask,) if isinstance(state, Asking) else state.asks if isinstance(state, Waiting) else ()
            child = f" {state.child}" if isinstance(state, Waiting) else ""
            asked = "".join(f"\n    ? {ask.text}  [{ask.id}]" for ask in asks)
            return f"  {name} {arguments[:200]} [{word}{child}]" + (f"\n    {output[:300]}" if output else "") + asked
        case parts.Notice(about=about, text=text):
            return f"! {text}" if about != "closing" else ""
        case parts.Compaction(cause=cause, outcome="smaller", before=before, after=after):
            return "! old outputs removed" if cause == "prune" else f"! context compacted: {before} → {after} tokens"
        case parts.Patch(files=files, more=more) if files:
            names = ", ".join(f"{each.path} (+{each.added} -{each.removed})" for each in files[:10])
            rest = len(files) - 10 + more
            return f"  ~ {names}" + (f" and {rest} more" if rest > 0 else "")
        case parts.Sentinel(text=text):
            return f"■ {text}"
        case parts.TurnFinish(reason=reason, spent=spent):
            return f"{reason}: {', '.join(used_words(spent))}"
    return ""
