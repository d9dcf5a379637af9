"""Rows of the sessions dialog: date, state, cost, title and directory of a session, and its preview."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from bridle.core.parts import Prompt, Text, TurnFinish
from bridle.core.session import Session
from bridle.errors import BridleError
from bridle.runtime.sessions import SessionRow, Sessions
from bridle.surfaces.shared.limit_levels import reason_words
from bridle.surfaces.shared.safe_text import line

MARKS = {"busy": "●", "retry": "↻", "paused": "?", "interrupted": "✗", "idle": " "}


def label_of(row: SessionRow, here: str, now: datetime, state: Session | None = None, status: str = "idle") -> str:
    """Return the label of a session; state and cost are known once its record was looked at."""
    title = row.info.title or row.info.id
    cost = f"${_cost(state):.2f}" if state is not None and _cost(state) else ""
    where = "" if row.info.directory == here else f"  in {_home_short(row.info.directory)}"
    pin = "⚑ " if row.info.pinned else ""
    known = f"{MARKS.get(status, ' ')} {'' if status == 'idle' else status + ' '}"
    return line(f"{known}{when(row.updated, now):<10} {cost:>6}  {pin}{title[:60]}{where}")


async def named(sessions: Sessions, row: SessionRow) -> SessionRow:
    """Return a row with a title: its own, or else the first prompt."""
    if row.info.title:
        return row
    try:
        title = _first(await sessions.load(row.info.id))
    except BridleError:
        # The label tells of a damaged session once it was looked at.
        return row
    return msgspec.structs.replace(row, info=msgspec.structs.replace(row.info, title=title))


def when(at: float, now: datetime) -> str:
    """Return a time in short: 14:05 today, Mon 14:05 within six days, 2026-01-31 before."""
    then = datetime.fromtimestamp(at)
    if then.date() == now.date():
        return then.strftime("%H:%M")
    return then.strftime("%a %H:%M") if now - then < timedelta(days=6) else then.strftime("%Y-%m-%d")


async def preview_of(sessions: Sessions, id: str) -> str:
    """Return the preview of a session: directory, models, last prompt and answer, and its ending."""
    try:
        state = await sessions.load(id)
    except BridleError as error:
        return str(error)
    assert state.info is not None
    parts = [*state.parts.values()]
    prompts = [part.text for part in parts if isinstance(part, Prompt)]
    said = [part.text for part in parts if isinstance(part, Text) and part.text.strip()]
    finish = state.turn.finish if state.turn is not None else None
    start = state.turn.start if state.turn is not None else None
    who = f"{start.agent} · {start.model}" if start is not None else ""
    rows = [f"{_home_short(state.info.directory)}  {who}"]
    rows += [f"> {line(prompts[-1])[:300]}"] if prompts else []
    rows += [line(said[-1])[:400]] if said else []
    rows += [f"{len(prompts)} prompts, {reason_words(finish.reason)}"] if finish is not None else []
    return "\n".join(rows)


def _first(state: Session) -> str:
    return next((part.text for part in state.parts.values() if isinstance(part, Prompt)), "")


def _cost(state: Session) -> float:
    return sum(part.spent.cost for part in state.parts.values() if isinstance(part, TurnFinish))


def _home_short(directory: str) -> str:
    home = str(Path.home())
    return f"~{directory.removeprefix(home)}" if directory == home or directory.startswith(f"{home}/") else directory
