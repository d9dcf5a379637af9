"""`move_session`: gives a session with its subagents to another machine, whose workers take it from then on."""

from __future__ import annotations

from contextlib import AsyncExitStack

import msgspec

from bridle.core.events import SessionPut
from bridle.errors import ConfigError, NoSuchSession
from bridle.journal.journal import Lease
from bridle.runtime.argument_checks import plain_name
from bridle.runtime.runtime import Runtime
from bridle.runtime.session_reader import own_children
from bridle.turn.record import Record


async def move_session(runtime: Runtime, session: str, place: str) -> list[str]:
    """Record another place for a session and its subagents, and wake it there; return the ids of all of them.

    Raises `ConfigError` for a place without a name, for a subagent and for a session that runs anywhere, and
    `LeaseLost` while a turn of the tree runs. Then nothing has changed.
    """
    if not plain_name("place", place):
        raise ConfigError("place: name the machine, as `bridle workers` shows it after the @")
    info = (await runtime.load(session)).info
    assert info is not None
    if info.parent:
        root = await _root(runtime, session)
        raise ConfigError(f"session {session} is a subagent and moves with its parent: move session {root}")
    if info.app and not info.place:
        raise ConfigError(f"session {session} needs no files: every worker of the app {info.app} takes it")
    moved: list[str] = []
    async with AsyncExitStack() as leases:
        held: dict[str, Lease] = {}
        waiting = [session]
        while waiting:
            id = waiting.pop(0)
            try:
                held[id] = await leases.enter_async_context(runtime.leased(id))
            except NoSuchSession:
                # The process died before it created this subagent, or its session was deleted.
                if id == session:
                    raise
                continue
            waiting += own_children(id, await runtime.journal.load(id))
        # The parent last: if this is interrupted, a repetition moves the rest.
        for id in reversed(held):
            await _record(runtime, held[id], place)
            moved.insert(0, id)
    if runtime.settings.workers.drive:
        # A wake that waits for a worker of the old place follows the session.
        await runtime.engine.wake(session)
    return moved


async def _record(runtime: Runtime, lease: Lease, place: str) -> None:
    state = await runtime.load(lease.session)
    assert state.info is not None
    if state.info.place != place:
        record = Record(state, runtime.journal, lease, runtime.seams.clock, runtime.bus.publish)
        await record.append(SessionPut(msgspec.structs.replace(state.info, place=place)))


async def _root(runtime: Runtime, session: str) -> str:
    while True:
        info = (await runtime.load(session)).info
        if info is None or not info.parent:
            return session
        session = info.parent
