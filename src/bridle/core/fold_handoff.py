"""Applies a handoff to the running turn: its limits at once, its agent when all calls of the step have ended."""

from __future__ import annotations

from msgspec.structs import replace

from bridle.core.parts import Handoff
from bridle.core.session import OpenTurn, Session

TERMS = ("agent", "model", "tools", "system", "window", "compact_at", "variant", "asked_tools", "fallbacks", "options")
"""The fields of a turn's start that a handoff replaces."""


def hand_over(turn: OpenTurn, part: Handoff) -> None:
    """Lower the limits of the turn; those of the other agent are announced to it again."""
    turn.limits = turn.limits.at_most(part.limits)
    turn.start = replace(turn.start, limits=turn.start.limits.at_most(replace(part.limits, steps=None)))
    turn.warned -= part.limits.given.keys()
    turn.handoff = part


def take_over(session: Session, turn: OpenTurn) -> None:
    """Let the other agent continue, if there is one: its terms hold from the next request on."""
    part, turn.handoff = turn.handoff, None
    if part is not None:
        turn.start = replace(turn.start, **{name: getattr(part, name) for name in TERMS})
        turn.model = part.model
        session.system = part.system or session.system
        session.agents[turn.start.number] = part.agent
