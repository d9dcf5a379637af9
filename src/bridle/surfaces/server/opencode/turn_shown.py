"""`TurnShown`: the state of the open turn in a projection, from the turn's start to its end."""

from __future__ import annotations

from dataclasses import dataclass, field

from bridle.surfaces.server.opencode import shapes


@dataclass(slots=True)
class TurnShown:
    """The open turn: its agent and model, the message it answers, and its last reply."""

    number: int
    agent: str
    model: str
    variant: str
    parent: str = ""
    """The user message that its replies answer: the last that it took."""
    last: str = ""
    """Its last reply."""
    retry: shapes.StatusShape | None = None
    """The try that is waited for."""
    compactions: dict[str, str] = field(default_factory=dict)
    """The user messages of its compactions."""
