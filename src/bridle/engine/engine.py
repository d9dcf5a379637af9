"""`Engine`: the contract of a scheduler that runs the turns of a session, in this process or in workers."""

from __future__ import annotations

from typing import Literal, Protocol

from bridle.journal.journal import Wake

Parked = Literal["idle", "paused", "waiting", "elsewhere"]
"""Why a drive ended: nothing is left to do, it awaits a person or subagents, or another process holds the lease."""


class Engine(Protocol):
    """Drives sessions, in this process or in workers, by calling `drive`.

    An engine keeps no state of a session: the journal has it all, so any engine may continue where another stopped.
    Live deltas are not part of the contract.
    """

    closing: bool
    """Whether drives of this process no longer open turns."""

    async def wake(self, session: str, *, held_prompts: bool = False) -> None:
        """Have the session driven from its current record, now or later. Wakes coalesce.

        `held_prompts` also starts queued prompts that a failed turn left for the person.
        """

    def enqueue(self, session: str) -> Wake | None:
        """Return the wake as a callback for the transaction of `Journal.submit`; None if `wake` must follow it."""

    async def report(self, parent: str) -> None:
        """Wake the parent of a subagent that has reported to its inbox, unless another process does so."""

    def drives(self, session: str) -> bool:
        """Return whether this process is acting on a wake of this session."""

    async def parked(self, session: str) -> None:
        """Return once no wake of the session made in this process is pending.

        Raises the `JournalError` with which a drive in this process ended, once.
        """

    async def close(self) -> None:
        """Abort the turns driven in this process, and return once that is recorded. May be called twice."""
