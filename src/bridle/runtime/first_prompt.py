"""A session made with its first prompt: looking and leaving makes none, nor does a prompt that is refused."""

from __future__ import annotations

from bridle.core.events import PartPut, SessionInfo
from bridle.core.inbox import PromptItem, TurnOptions
from bridle.core.parts import Prompt
from bridle.core.session import Session
from bridle.errors import JournalRefused
from bridle.journal.journal import SessionRow
from bridle.runtime.runtime import Runtime

FEW_ENTRIES = 8
"""Longer sessions have a prompt; shorter ones may have titles alone."""


def reserve(runtime: Runtime) -> str:
    """Return the id of a session that is yet to be made."""
    return runtime.seams.new_id("ses")


async def begin_session(runtime: Runtime, id: str, text: str, options: TurnOptions | None) -> str:
    """Make a session for a first prompt; raises `ConfigError`, and makes none, if that prompt would be refused.

    Without options the prompt wants no turn, and nothing can refuse it.
    """
    if options is not None:
        state = Session()
        state.info = SessionInfo(id, str(runtime.directory), created=runtime.seams.clock.wall())
        await runtime.check(state, PromptItem("first", text, options=options))
    return await runtime.create(id)


async def is_begun(runtime: Runtime, row: SessionRow) -> bool:
    """Whether a session has a prompt, taken or waiting; empty ones are left out wherever one is looked for."""
    if row.sequence > FEW_ENTRIES:
        return True
    try:
        entries = await runtime.journal.load(row.info.id)
    except JournalRefused:
        # Whoever opens it is told that it is damaged.
        return True
    for entry in entries:
        if any(isinstance(event, PartPut) and isinstance(event.part, Prompt) for event in entry.events):
            return True
    return bool(await runtime.waiting_prompts(row.info.id))
