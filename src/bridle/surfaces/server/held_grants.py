"""`HeldGrants`: tells open streams and waiting requests when their token or page is revoked."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable

from bridle.errors import JournalError

LOG = logging.getLogger(__name__)
LOOK_SECONDS = 0.5

Holds = Callable[[str], Awaitable[bool]]
"""Returns whether the grant with a digest is still valid; raises `JournalError`."""


class HeldGrants:
    """The grants of open streams, checked together, so that the cost does not grow with their number."""

    def __init__(self, holds: Holds) -> None:
        self._holds = holds
        self._readers: Counter[str] = Counter()
        self._over: dict[str, asyncio.Event] = {}
        self._task: asyncio.Task[None] | None = None

    async def ended(self, digest: str) -> None:
        """Return once a grant is revoked or has expired. An empty digest is the local socket's, and never ends."""
        over = self._over.setdefault(digest, asyncio.Event())
        self._readers[digest] += 1
        if digest and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._look())
        try:
            await over.wait()
        finally:
            self._readers[digest] -= 1
            if not self._readers[digest]:
                del self._readers[digest]
                self._over.pop(digest, None)

    async def _look(self) -> None:
        while watched := [digest for digest in self._readers if digest]:
            for digest in watched:
                if not await self._is_valid(digest) and digest in self._over:
                    self._over[digest].set()
            await asyncio.sleep(LOOK_SECONDS)

    async def _is_valid(self, digest: str) -> bool:
        try:
            return await self._holds(digest)
        except JournalError as error:
            # The reader connects again, and its token is checked then.
            LOG.warning("the rights of open streams cannot be checked, and the streams end: %s", error)
            return False
