"""The contract of an engine."""

from __future__ import annotations

from typing import Literal, Protocol

Parked = Literal["idle", "paused", "waiting", "elsewhere"]
"""Why a drive ended: nothing is left to do, a person or a subagent is awaited, or another process has the lease."""


class Engine(Protocol):
    """Drives sessions. All state is in the journal, so that any engine may go on where another stopped."""

    def wake(self, session: str, *, held_prompts: bool = False) -> None:
        """See to it that the session is driven from its record as it is now, or later. Wakes coalesce.

        `held_prompts` also starts queued prompts that a failed turn left for the person.
        """

    async def parked(self, session: str) -> Parked:
        """Return once nobody drives the session here; raises the `JournalError` with which the drive ended."""

    async def tend(self, session: str) -> bool:
        """Wake what can go on below a session that awaits its subagents; False if nothing in its tree can.

        Raises the `JournalError` with which a drive in the tree ended.
        """

    def active(self) -> set[str]:
        """The sessions that are driven here now."""

    async def close(self) -> None:
        """Abort nothing, start nothing, and return when every drive here has ended. May be called twice."""
