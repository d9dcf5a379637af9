"""Wakes sessions of a tree (a root and its subagents) that can continue, while a caller awaits it; finds parents."""

from __future__ import annotations

from bridle.core.action import Pause, Wait
from bridle.core.decide import decide
from bridle.core.ids import child_prompt_id
from bridle.core.session import Session
from bridle.core.states import Ask
from bridle.engine.drive import DriveSetup, has_work
from bridle.engine.engine import Engine
from bridle.errors import NoSuchSession
from bridle.turn.children import has_ended


async def tend(id: str, setup: DriveSetup, engine: Engine, told: tuple[Ask, ...] | None = None) -> bool:
    """Wake the sessions of a tree that can continue; return False if there is none.

    `told` are the asks of the session that its parent knows. Raises the `JournalError` with which a drive ended.
    """
    if engine.drives(id):
        return True
    await engine.parked(id)
    if await setup.journal.held(id):
        return True
    session = await setup.load(id)
    if await has_work(id, setup, engine) or _is_untold(session, told) or is_interrupted(session):
        await engine.wake(id)
        return True
    goes_on = False
    for call, state in session.running.under_way.items() if session.running is not None else ():
        if not await _is_prompted(state.child, child_prompt_id(id, call), setup, engine):
            # The process died between recording the call and prompting its subagent: recovery submits the prompt.
            await engine.wake(id)
            return True
        goes_on = await tend(state.child, setup, engine, state.asks) or goes_on
    return goes_on


async def _is_prompted(child: str, prompt: str, setup: DriveSetup, engine: Engine) -> bool:
    if engine.drives(child):
        return True
    try:
        taken = (await setup.load(child)).prompts
        return prompt in taken or any(item.id == prompt for item in await setup.journal.inbox(child))
    except NoSuchSession:
        return False


def _is_untold(session: Session, told: tuple[Ask, ...] | None) -> bool:
    """Return whether the parent lacks an ending or an ask of this session: the report was lost in a crash.

    The parent was checked first: with a report in its inbox it could continue.
    """
    if told is None:
        return False
    asks = session.running.asks if session.running is not None else ()
    return has_ended(session) or (bool(asks) and told == ())


def is_interrupted(session: Session) -> bool:
    """Return whether a turn is open that awaits neither a person nor a subagent: its process is gone."""
    turn = session.running
    if turn is not None and turn.background:
        return not isinstance(decide(session.view(session.elapsed)), (Pause, Wait))
    return turn is not None and not turn.asks and not turn.children


async def parent_of(id: str, setup: DriveSetup) -> str:
    """Return the session whose open turn started the open turn of this one; empty if there is none."""
    turn = (setup.live.get(id) or await setup.load(id)).running
    return turn.start.delegation.parent if turn is not None and turn.start.delegation is not None else ""
