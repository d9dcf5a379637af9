"""`Resources`: keeps objects of tools between calls, like connections; made on first use, closed with the runtime."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Protocol, TypeVar


class Resource(Protocol):
    """Something that outlives a call, such as a pool of connections. Its class is called without arguments."""

    async def close(self) -> None:
        """Free everything. Called once, after the last call."""


Kind = TypeVar("Kind", bound=Resource)


class Resources:
    """The resources of one runtime: one of each class, for all sessions."""

    def __init__(self) -> None:
        self._made: dict[type[Resource], Resource] = {}
        self._closes = AsyncExitStack()

    def of(self, kind: type[Kind]) -> Kind:
        """Return the resource of this class; it is made if there is none."""
        made = self._made.get(kind)
        if made is None:
            made = self._made[kind] = kind()
            self._closes.push_async_callback(made.close)
        assert isinstance(made, kind)
        return made

    async def close(self) -> None:
        """Close all of them, the last made first, even if one fails. May be called twice."""
        self._made.clear()
        await self._closes.aclose()
