"""Deletes sessions with their subagents, long outputs and snapshots: on request, by age, or by total size."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

from bridle.core.action import Wait
from bridle.core.decide import decide
from bridle.core.ids import in_tree
from bridle.core.session import Session
from bridle.errors import JournalRefused, LeaseLost, NoSuchSession
from bridle.journal.journal import SessionRow
from bridle.runtime.runtime import Runtime
from bridle.runtime.session_reader import own_children

DAY = 86_400.0


async def end_background(runtime: Runtime, session: str, state: Session) -> None:
    """Abort the turn if it has given its answer and only waits for background subagents; otherwise do nothing."""
    turn = state.running
    if turn is None or not turn.background or await runtime.journal.held(session):
        return
    view = state.view(state.elapsed)
    if not view.open_calls and isinstance(decide(view), Wait):
        await runtime.abort(session, turn=turn.start.number)
        await runtime.parked(session)


async def delete_session(runtime: Runtime, session: str) -> list[str]:
    """Delete a session with its subagents, long outputs and snapshots; return the ids of the deleted sessions.

    Background subagents of a turn that only waits for them are aborted.
    Raises `LeaseLost` if a session of the tree is being driven; then no session above it is deleted.
    """
    state = await _known(runtime, session)
    if state is not None:
        await end_background(runtime, session, state)
    gone: list[str] = []
    for child in await _children(runtime, session):
        with suppress(NoSuchSession):
            gone += await delete_session(runtime, child)
    async with runtime.leased(session) as lease:
        if state is not None:
            # Otherwise its open reservations would count in its day and month forever.
            await runtime.settle_abandoned(lease)
        await runtime.journal.delete(lease)
    if runtime.outputs is not None:
        shutil.rmtree(runtime.outputs / session, ignore_errors=True)
    if runtime.snapshots is not None and state is not None and state.info is not None:
        await runtime.snapshots.drop(Path(state.info.directory), session)
    return [*gone, session]


async def _children(runtime: Runtime, session: str) -> list[str]:
    """Return the subagents of a session, including undone turns, but not those that a fork shares with its origin."""
    try:
        return own_children(session, await runtime.journal.load(session))
    except JournalRefused:
        return []


async def size_of(runtime: Runtime, session: str) -> int:
    """Return the approximate size of a session in the journal in bytes, without subagents; raises `NoSuchSession`."""
    return await runtime.journal.size(session)


async def _known(runtime: Runtime, session: str) -> Session | None:
    """Return the session, or None if its entries are invalid: a damaged session can still be deleted."""
    try:
        return await runtime.load(session)
    except JournalRefused:
        return None


async def expired(runtime: Runtime, *, days: float = 0, megabytes: float = 0) -> list[str]:
    """Return the ids of root sessions unchanged for `days`, and of the oldest ones beyond `megabytes`; 0 disables each.

    Pinned sessions, and those with an open turn or waiting prompts, are left out.
    """
    rows = [row for row in await runtime.journal.sessions() if not row.info.parent and not row.info.pinned]
    now = runtime.seams.clock.wall()
    gone = [row.info.id for row in rows if days and now - row.updated > days * DAY]
    if megabytes:
        gone += await _too_much(runtime, (row for row in rows if row.info.id not in gone), megabytes * (1 << 20))
    return [id for id in gone if not await _unfinished(runtime, id)]


async def _too_much(runtime: Runtime, rows: Iterable[SessionRow], most: float) -> list[str]:
    """Return the sessions beyond the size limit; rows come newest first, and the newest is always kept."""
    sizes = {row.info.id: await size_of(runtime, row.info.id) for row in await runtime.journal.sessions()}
    ids = [row.info.id for row in rows]
    totals = accumulate(sum(size for other, size in sizes.items() if in_tree(other, id)) for id in ids)
    return [id for id, total in zip(ids, totals, strict=True) if total > most and id != ids[0]]


async def _unfinished(runtime: Runtime, session: str) -> bool:
    """Return whether the session has an open turn or waiting prompts, or is damaged: never deleted automatically."""
    state = await _known(runtime, session)
    return state is None or state.running is not None or bool(await runtime.waiting_prompts(session))


async def prune(runtime: Runtime, *, days: float = 0, megabytes: float = 0) -> list[str]:
    """Delete expired sessions and free their disk space; return the ids of the deleted sessions."""
    gone: list[str] = []
    for session in await expired(runtime, days=days, megabytes=megabytes):
        # Another process may be driving the session now.
        with suppress(LeaseLost):
            gone += await delete_session(runtime, session)
    if gone:
        await runtime.journal.shrink()
    return gone


async def prune_daily(runtime: Runtime) -> list[str]:
    """Delete sessions that are expired by the settings, at most once a day; return the ids of the deleted sessions."""
    given = runtime.settings.sessions
    if runtime.outputs is None or not (given.keep_days or given.keep_mb):
        return []
    stamp = runtime.outputs.with_name("pruned")
    if stamp.exists() and runtime.seams.clock.wall() - stamp.stat().st_mtime < DAY:
        return []
    gone = await prune(runtime, days=given.keep_days, megabytes=given.keep_mb)
    stamp.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    stamp.touch(mode=0o600)
    return gone
