"""`LocalEngine`: the engine of a single process, one task per running session; several wakes meanwhile count as one."""

from __future__ import annotations

import asyncio

from bridle.core.inbox import AbortItem
from bridle.engine.drive import DriveSetup, drive, submit
from bridle.engine.engine import Parked
from bridle.engine.tree import parent_of
from bridle.journal.journal import Wake
from bridle.seams import begin


class _Drive:
    """A session being driven."""

    def __init__(self) -> None:
        self.again = True
        self.held_prompts = False
        self.task: asyncio.Task[None] | None = None


class LocalEngine:
    """Drives sessions as tasks of this process; see `Engine`."""

    def __init__(self, setup: DriveSetup) -> None:
        self.closing = False
        self._setup = setup
        self._drives: dict[str, _Drive] = {}
        self._waiting: set[str] = set()
        """Sessions whose open turn was last driven here."""
        self._failed: dict[str, Exception] = {}
        """Errors of drives that no waiter has received."""

    async def wake(self, session: str, *, held_prompts: bool = False) -> None:
        under_way = self._drives.get(session)
        current = self._drives[session] = under_way or _Drive()
        current.again = True
        current.held_prompts = current.held_prompts or held_prompts
        if under_way is None:
            self._failed.pop(session, None)
            current.task = begin(self._run(session, current))

    def enqueue(self, session: str) -> Wake | None:
        return None

    async def report(self, parent: str) -> None:
        # If only the subagent is driven here, its parent belongs to the process that waits for it.
        if self.drives(parent) or parent in self._waiting:
            await self.wake(parent)

    def drives(self, session: str) -> bool:
        return session in self._drives

    async def parked(self, session: str) -> None:
        while (current := self._drives.get(session)) is not None and current.task is not None:
            await asyncio.wait([current.task])
        if failure := self._failed.pop(session, None):
            raise failure

    async def close(self) -> None:
        self.closing = True
        for session in sorted({await self._top(session) for session in tuple(self._drives)}):
            item = AbortItem(self._setup.seams.new_id("abt"), detail="the runtime was closed")
            await submit(session, item, self._setup.journal, self)
        await self._ended()

    async def leave(self, grace: float) -> None:
        """Leave the turns driven here interrupted, after at most `grace` seconds for their work. See `Leaving`."""
        self.closing = True
        await self._setup.leaving.leave(grace)
        await self._ended()

    async def _ended(self) -> None:
        """Return once no drive is left."""
        while tasks := [current.task for current in self._drives.values() if current.task is not None]:
            await asyncio.wait(tasks)

    async def _top(self, session: str) -> str:
        """Return the highest session of a tree that is driven here."""
        while parent := await parent_of(session, self._setup):
            if not self.drives(parent) and parent not in self._waiting:
                break
            session = parent
        return session

    async def _run(self, session: str, current: _Drive) -> None:
        parked: Parked = "idle"
        try:
            while current.again:
                current.again = False
                held, current.held_prompts = current.held_prompts, False
                parked = await drive(session, self._setup, self, held_prompts=held)
            self._waiting.discard(session)
        except Exception as error:
            # Reported to the waiter once; then the session may be driven again.
            self._failed[session] = error
            parked = "waiting"
        finally:
            del self._drives[session]
        if parked in ("waiting", "paused"):
            self._waiting.add(session)
