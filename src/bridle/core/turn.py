"""`Turn`: the frozen summary of a turn's record from which `decide` chooses the next action."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.limits import LIMITS, LimitName, Limits, Reason, Spent
from bridle.core.parts import Halt, ReservationRefused


class Step(msgspec.Struct, frozen=True):
    """The last step of a turn."""

    number: int
    closing: Reason | None = None
    state: Literal["open", "interrupted", "failed", "finished"] = "open"
    requests: int = 0
    deaths: int = 0
    empties: int = 0
    calls: int = 0
    cut: Literal["", "abort", "chant", "deadline"] = ""
    tries: int = 0
    began: float = 0.0

    @property
    def final(self) -> bool:
        """Whether it ended with text and without calls."""
        return self.state == "finished" and not self.calls and not self.empties and not self.cut


class SideRequest(msgspec.Struct, frozen=True):
    """The last request beside the steps: for a summary, or for an answer from results."""

    purpose: Literal["compaction", "synthesis"]
    state: Literal["open", "interrupted", "failed", "finished"] = "open"
    requests: int = 0
    deaths: int = 0
    blanks: int = 0
    tries: int = 0
    began: float = 0.0


class Turn(msgspec.Struct, frozen=True):
    """The recorded state of a turn; built in O(1) from the state of the fold."""

    number: int
    limits: Limits
    spent: Spent
    step: Step | None = None
    pending: tuple[str, ...] = ()
    asking: tuple[str, ...] = ()
    prompted: bool = False
    """The model has not read the last prompt, or the last report from the background."""
    halt: Halt | None = None
    refused: ReservationRefused | None = None
    closing_refused: bool = False
    doom: bool = False
    warned: frozenset[LimitName] = frozenset()
    waiting: tuple[str, ...] = ()
    recalled: tuple[str, ...] = ()
    """Calls whose subagents were told to stop, in the background or not."""
    queued: tuple[str, ...] = ()
    places: bool = False
    """A subagent of this turn has ended since the last one was started: another may take its place."""
    synthesis: Literal["", "due", "failed", "done"] = ""
    side_request: SideRequest | None = None
    compactions: int = 0
    """Number of compactions since the last reply whose context, by the provider's count, was not too large."""
    output: Literal["", "wanted", "given", "missed"] = ""
    """Whether the answer must fit a schema, and whether the last step gave one that fits or too many did not."""
    reminded: int = 0
    """How often the model was told that its answer is missing."""
    crowded: bool = False
    """The context must be made smaller before the next request."""
    background: tuple[str, ...] = ()
    """Calls whose subagents work in the background."""

    @property
    def cap(self) -> int:
        """Number of steps that the turn may take; 0 if it has no tools."""
        return self.limits.steps or 0

    @property
    def open_calls(self) -> tuple[str, ...]:
        """Calls that have not ended, except those that are running."""
        return self.pending + self.asking + self.queued + self.waiting + self.recalled

    @property
    def closing(self) -> Reason | None:
        """The reason for which the turn is closing or about to close."""
        if self.step is not None and self.step.closing is not None:
            return self.step.closing
        if self.doom:
            return "doom_loop"
        if self.refused is not None:
            return self.refused.closes
        reached = self.limits.reached(self.spent)
        return None if reached is None else LIMITS[reached].reason
