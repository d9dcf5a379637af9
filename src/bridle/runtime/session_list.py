"""Pins and archives sessions, changes their approvals, and finds sessions by their state."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from bridle.core.inbox import DescribeItem
from bridle.core.permission import Approvals
from bridle.errors import JournalRefused, NoSuchSession
from bridle.journal.journal import SessionQuery, SessionRow
from bridle.runtime.argument_checks import fitting
from bridle.runtime.inside_call import refuse_inside_call
from bridle.runtime.runtime import Runtime

MOST_STATES = 500
"""Sessions of which the state is determined for one list: it takes a look into each record."""


async def pin_session(runtime: Runtime, session: str, pinned: bool) -> None:
    """Put a session at the top of lists, or no longer."""
    pinned = fitting("pinned", pinned, bool)
    await runtime.settle(session, DescribeItem(runtime.seams.new_id("dsc"), pinned=pinned))


async def archive_session(runtime: Runtime, session: str, archived: bool) -> None:
    """Put a session aside, so that lists leave it out, or take it back."""
    at = runtime.seams.clock.wall() if fitting("archived", archived, bool) else 0.0
    await runtime.settle(session, DescribeItem(runtime.seams.new_id("dsc"), archived=at))


async def set_approvals(runtime: Runtime, session: str, approvals: Approvals) -> None:
    """Change how the calls of a session and of its running subagents are approved."""
    approvals = fitting("approvals", approvals, Approvals)
    if approvals == "auto":
        refuse_inside_call("approving calls automatically")
    await runtime.settle(session, DescribeItem(runtime.seams.new_id("dsc"), approvals=approvals))
    turn = (await runtime.load(session)).running
    for child in turn.children.values() if turn is not None else ():
        # A call that has not started its subagent yet passes on what was just recorded.
        with suppress(NoSuchSession):
            await set_approvals(runtime, child, approvals)


async def in_state(runtime: Runtime, query: SessionQuery) -> list[SessionRow]:
    """Return the rows of a query whose sessions are in its state, among those that changed last."""
    found: list[SessionRow] = []
    for row in await runtime.journal.sessions(msgspec.structs.replace(query, limit=MOST_STATES)):
        # A damaged session has no state, and a deleted one is not listed.
        with suppress(JournalRefused, NoSuchSession):
            ended = await runtime.has_ended(row)
            if query.state == ("idle" if ended else (await runtime.status(row.info.id)).state):
                found.append(row)
        if query.limit and len(found) == query.limit:
            break
    return found
