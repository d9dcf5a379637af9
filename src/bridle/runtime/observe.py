"""What goes on besides a session's own turn: its subagents, what their tree may use, its commands in the background."""

from __future__ import annotations

from typing import NamedTuple

from bridle.core.ledger import Account
from bridle.core.limits import NOTHING
from bridle.core.parts import Call
from bridle.core.session import Session
from bridle.core.states import Done, Failed, Waiting
from bridle.core.status import status_of
from bridle.errors import BridleError
from bridle.runtime.runtime import Runtime

MOST_BRANCHES = 100


class Branch(NamedTuple):
    """A subagent, the call that started it, how it stands, and whom it has started itself."""

    session: str
    agent: str
    arguments: str
    state: str
    steps: int
    cap: int
    below: tuple[Branch, ...] = ()


class BackgroundCommand(NamedTuple):
    """A command in the background; without a status it runs."""

    id: str
    command: str
    status: int | None
    tail: str


def child_of(call: Call) -> str:
    """The session of the subagent that a call has started; empty if there is none."""
    match call.state:
        case Waiting(child=child):
            return child
        case Done(report=report) | Failed(report=report) if report is not None:
            return report.child
    return ""


async def branches(runtime: Runtime, session: Session, ended: dict[str, Branch]) -> tuple[Branch, ...]:
    """The subagents of a session, the last ones last, and theirs; `ended` keeps those that are read only once."""
    found: list[Branch] = []
    calls = [part for part in session.parts.values() if isinstance(part, Call) and child_of(part)]
    for call in calls[-MOST_BRANCHES:]:
        child = child_of(call)
        if child in ended and not isinstance(call.state, Waiting):
            found.append(ended[child])
            continue
        try:
            state = await runtime.load(child)
            held = runtime.drives(child) or await runtime.journal.held(child)
        except BridleError:
            # It was deleted, or is damaged; what its parent knows of it stands there.
            continue
        turn = state.turn
        status = status_of(state, held=held).state
        agent, steps, cap = (turn.start.agent, turn.steps, turn.cap) if turn is not None else ("", 0, 0)
        branch = Branch(child, agent, call.arguments, status, steps, cap, await branches(runtime, state, ended))
        found.append(branch)
        if not isinstance(call.state, Waiting):
            ended[child] = branch
    return tuple(found)


async def account_of_tree(runtime: Runtime, session: Session) -> Account | None:
    """What all turns under the root have used together; None where there is no tree."""
    turn = session.turn
    if turn is None or (not turn.children and turn.below is NOTHING):
        # Asked with every entry that is shown: a turn without subagents costs no reading.
        return None
    account = await runtime.journal.account(turn.start.account)
    while account is not None and account.parent and not account.parent.startswith(("day/", "month/")):
        account = await runtime.journal.account(account.parent)
    return account


def in_background(runtime: Runtime, session: str) -> list[BackgroundCommand]:
    """The commands that a session has in the background, as far as this process started them."""
    found = runtime.turns.commands.backgrounds.of(session)
    return [BackgroundCommand(id, each.shown, each.status, each.tail) for id, each in found.items()]


async def end_in_background(runtime: Runtime, session: str, id: str) -> None:
    """End a command, with everything that it started; the session may still read what it printed."""
    await runtime.turns.commands.backgrounds.find(session, id).end()
