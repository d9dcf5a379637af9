"""The contract of an engine."""

from __future__ import annotations

from typing import Literal, Protocol

from bridle.journal.journal import Wake

Parked = Literal["idle", "paused", "waiting", "elsewhere"]
"""Why a drive ended: nothing is left to do, it awaits a person or subagents, or another process holds the lease."""


class Engine(Protocol):
    """Has sessions driven, in this process or in workers, by calling `drive`.

    An engine keeps no state of a session: the journal has it all, so any engine may go on where another stopped.
    Live deltas are not part of the contract.
    """

    closing: bool
    """Whether drives of this process open no turn any more."""

    async def wake(self, session: str, *, held_prompts: bool = False) -> None:
        """Have the session driven from its record as it is now, or later. Wakes coalesce.

        `held_prompts` also starts queued prompts that a failed turn left for the person.
        """

    def enqueue(self, session: str) -> Wake | None:
        """Return the wake as a callback for the transaction of `Journal.submit`; None if `wake` must follow it."""

    async def report(self, parent: str) -> None:
        """Wake the parent of a subagent that has reported to its inbox, unless another process sees to it."""

    def drives(self, session: str) -> bool:
        """Return whether a wake of this session is being acted on in this process."""

    async def parked(self, session: str) -> None:
        """Return once no wake of the session that was made here is still to be acted on.

        Raises the `JournalError` with which a drive in this process ended, once.
        """

    async def close(self) -> None:
        """Abort the turns that are driven in this process, and return once that is recorded. May be called twice."""
