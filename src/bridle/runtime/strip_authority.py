"""Rewrites the entries of an imported session: removes permissions, lowers limits, changes payer and directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from bridle.core.events import CallMoved, Entry, PartPut, Recorded, SessionInfo, SessionPut
from bridle.core.ids import account_id, is_below, read_account
from bridle.core.limits import Limits
from bridle.core.parts import Call, Extension, Handoff, Prompt, Redone, TurnFinish, TurnStart, Undone
from bridle.core.session import OpenTurn
from bridle.core.states import Approved, Asking, CallState, Pending, Waiting
from bridle.errors import ConfigError


def with_info(entries: Sequence[Entry], change: Callable[[SessionInfo], SessionInfo]) -> tuple[Entry, ...]:
    """Return the entries with every recorded information about the session changed."""
    return _mapped(entries, lambda event: SessionPut(change(event.info)) if isinstance(event, SessionPut) else event)


def moved(entries: Sequence[Entry], directory: str, place: str | None = None) -> tuple[Entry, ...]:
    """Return the entries of a session, moved to this directory and, with a place, to that machine.

    A session of an app that any machine may drive has no place, and gets none.
    """

    def move(info: SessionInfo) -> SessionInfo:
        there = info.place if place is None or (info.app and not info.place) else place
        return msgspec.structs.replace(info, directory=directory, place=there)

    return with_info(entries, move)


def _without_auto(info: SessionInfo) -> SessionInfo:
    return msgspec.structs.replace(info, approvals="rules") if info.approvals == "auto" else info


def _mapped(entries: Iterable[Entry], change: Callable[[Recorded], Recorded]) -> tuple[Entry, ...]:
    return tuple(msgspec.structs.replace(entry, events=tuple(map(change, entry.events))) for entry in entries)


def disarmed(entries: Sequence[Entry], directory: str, place: str | None = None) -> tuple[Entry, ...]:
    """Return the entries of a session, moved as by `moved` and without any permissions granted so far.

    Permanent approvals are dropped everywhere. In a turn that has not ended, approved and asking calls become pending
    again, `on_ask` allows nothing, the tools are only those of its agent, and prompts start no command or subagent
    without an ask. Raises `ConfigError` if a turn ends without having begun.
    """
    found: list[Entry] = []
    ended: int | None = None
    for entry in reversed(with_info(moved(entries, directory, place), _without_auto)):
        events: list[Recorded] = []
        for event in reversed(entry.events):
            part = event.part if isinstance(event, PartPut) else None
            if isinstance(part, TurnFinish):
                ended = part.number
            elif isinstance(part, (Undone, Redone)):
                # A redo can restore hidden turns: a turn has ended only if its end is restored with it.
                ended = None
            events.append(_disarmed(event, ended=ended is not None))
            if isinstance(part, TurnStart):
                if ended not in (None, part.number):
                    raise ConfigError(f"turn {ended} has an end but no start")
                ended = None
        found.append(msgspec.structs.replace(entry, events=tuple(reversed(events))))
    return tuple(reversed(found))


def _disarmed(event: Recorded, *, ended: bool) -> Recorded:
    if isinstance(event, CallMoved):
        return msgspec.structs.replace(event, state=_state(event.state, ended=ended))
    if isinstance(event, PartPut) and isinstance(event.part, Call):
        return PartPut(msgspec.structs.replace(event.part, state=_state(event.part.state, ended=ended)))
    if isinstance(event, PartPut) and isinstance(event.part, TurnStart):
        return PartPut(_start(event.part, ended=ended))
    if isinstance(event, PartPut) and isinstance(event.part, Prompt) and not ended:
        # A person's command runs without an ask, and so does a subagent that a person names.
        return PartPut(msgspec.structs.replace(event.part, shell="", wants=()))
    if isinstance(event, PartPut) and isinstance(event.part, Handoff) and not ended:
        return PartPut(msgspec.structs.replace(event.part, asked_tools=()))
    return event


def _start(start: TurnStart, *, ended: bool) -> TurnStart:
    delegation = msgspec.structs.replace(start.delegation, always=()) if start.delegation is not None else None
    on_ask = start.on_ask if ended or start.on_ask != "allow" else "deny"
    if not ended:
        off = {name: given for name, given in start.tool_switches.items() if not given}
        start = msgspec.structs.replace(start, asked_tools=(), tool_switches=off)
    return msgspec.structs.replace(start, delegation=delegation, on_ask=on_ask)


def _state(state: CallState, *, ended: bool) -> CallState:
    if ended:
        return msgspec.structs.replace(state, always=()) if isinstance(state, Approved) else state
    if isinstance(state, (Approved, Asking)):
        # The text of an ask is imported too, so it is not trusted: the user must see what the call itself needs.
        return Pending()
    return Waiting(state.child, recalled=state.recalled) if isinstance(state, Waiting) else state


def paid_by(entries: Sequence[Entry], owner: str) -> tuple[Entry, ...]:
    """Return the entries with this name as the one that pays, instead of names of the machine that exported them."""

    def pay(event: Recorded) -> Recorded:
        part = event.part if isinstance(event, PartPut) else None
        if not isinstance(part, TurnStart):
            return event
        return PartPut(msgspec.structs.replace(part, owner=owner if part.delegation is None else ""))

    return _mapped(entries, pay)


def bounded(entries: Sequence[Entry], open_turn: int, limits: Limits) -> tuple[Entry, ...]:
    """Return the entries with these limits for the open turn of this number; its extensions are set to 0."""
    begun = False
    steps, rest = limits.steps or 0, msgspec.structs.replace(limits, steps=None)

    def bound(event: Recorded) -> Recorded:
        nonlocal begun
        part = event.part if isinstance(event, PartPut) else None
        if isinstance(part, TurnStart):
            begun = part.number == open_turn
            return PartPut(msgspec.structs.replace(part, cap=steps, limits=rest)) if begun else event
        if begun and isinstance(part, Extension):
            return PartPut(msgspec.structs.replace(part, by=0.0))
        return event

    return _mapped(entries, bound)


def check_open_turn(id: str, turn: OpenTurn, carried: set[str], ceiling: int) -> None:
    """Raise `ConfigError` if an open turn uses an account, step limit, subagent or parent that is not its own."""
    start, delegation = turn.start, turn.start.delegation
    if start.account != account_id(id, start.number):
        raise ConfigError(f"session {id}: its open turn spends from account {start.account!r}, which is not its own")
    if turn.cap > ceiling:
        raise ConfigError(f"session {id}: its open turn may take {turn.cap} steps, and your ceiling is {ceiling}")
    foreign = [child for child in turn.children.values() if not is_below(child, id)]
    if foreign:
        raise ConfigError(f"session {id}: its open turn waits for {foreign[0]}, which is no subagent of it")
    if delegation is None:
        return
    payer = read_account(delegation.account)
    known = delegation.parent in carried and is_below(id, delegation.parent)
    if not known or payer is None or payer.session != delegation.parent:
        raise ConfigError(f"session {id}: its open turn works for {delegation.parent}, which is not in this file")
