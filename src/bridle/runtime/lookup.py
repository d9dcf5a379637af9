"""Which session is meant when nobody names one, and everything that is recorded of one."""

from __future__ import annotations

from collections.abc import Sequence

from bridle.core.action import Wait
from bridle.core.decide import decide
from bridle.core.events import CallMoved, Entry, PartPut
from bridle.core.parts import TurnFinish
from bridle.core.session import Session
from bridle.core.states import Waiting
from bridle.errors import ConfigError, JournalRefused, NoSuchSession
from bridle.journal.journal import SessionRow
from bridle.runtime.first_prompt import is_begun
from bridle.runtime.runtime import Runtime

MOST_LOOKED_AT = 50
LAST_ENTRIES = 2


async def last_session(runtime: Runtime, wanted: str = "") -> str:
    """The session of this directory that changed last and has a prompt; raises `ConfigError` if there is none."""
    here = str(runtime.directory)
    for row in await runtime.sessions():
        if row.info.directory == here and not row.info.parent and await is_begun(runtime, row):
            return row.info.id
    raise ConfigError(f"{wanted}there is no session in {here} yet")


async def entries_of(runtime: Runtime, session: str) -> list[Entry]:
    """Everything that was recorded, undone or not."""
    return await runtime.journal.load(session)


def children_in(entries: Sequence[Entry]) -> dict[str, set[str]]:
    """The subagents that worked in these entries, undone or not, and the calls for which they did."""
    found: dict[str, set[str]] = {}
    for entry in entries:
        for event in entry.events:
            if isinstance(event, CallMoved) and isinstance(event.state, Waiting):
                found.setdefault(event.state.child, set()).add(event.id)
    return found


async def end_background(runtime: Runtime, session: str, state: Session) -> None:
    """Abort a turn that has given its answer and only awaits subagents in the background; others are left alone."""
    turn = state.running
    if turn is None or not turn.background or await runtime.journal.held(session):
        return
    view = state.view(state.elapsed)
    if not view.open_calls and isinstance(decide(view), Wait):
        await runtime.abort(session, turn=turn.start.number)
        await runtime.parked(session)


async def tree_entries(runtime: Runtime, session: str) -> dict[str, list[Entry]]:
    """Everything that was recorded of a session and of its subagents, by their ids."""
    found: dict[str, list[Entry]] = {}
    waiting = [session]
    while waiting:
        id = waiting.pop()
        try:
            found[id] = await runtime.journal.load(id)
        except NoSuchSession:
            if id == session:
                raise
            continue
        waiting += sorted(child for child in children_in(found[id]) if child not in found)
    return found


async def interrupted_here(runtime: Runtime) -> list[str]:
    """Sessions of this directory whose turn nobody drives any more, and which awaits nobody; the newest first."""
    here = str(runtime.directory)
    rows = [row for row in await runtime.sessions() if row.info.directory == here and not row.info.parent]
    found: list[str] = []
    for row in rows[:MOST_LOOKED_AT]:
        try:
            if not await _has_ended(runtime, row) and (await runtime.status(row.info.id)).state == "interrupted":
                found.append(row.info.id)
        except JournalRefused:
            # Whoever opens it is told that it is damaged.
            continue
    return found


async def _has_ended(runtime: Runtime, row: SessionRow) -> bool:
    """Whether the last entries say so already: nearly all do, and then nothing else has to be read."""
    if row.sequence == 1:
        return True
    last = await runtime.journal.load(row.info.id, max(0, row.sequence - LAST_ENTRIES))
    return any(isinstance(event, PartPut) and isinstance(event.part, TurnFinish) for event in last[-1].events)
