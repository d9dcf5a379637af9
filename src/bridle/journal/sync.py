"""Flushes commits of `sqlite` to disk, so that they survive a power loss: one flush serves all waiters."""

from __future__ import annotations

import asyncio
import fcntl
import os
from pathlib import Path

from bridle.errors import JournalFailed
from bridle.seams import Clock, Offload, begin

QUICK_SECONDS = 0.001


class Sync:
    """Flushes one file. SQLite's own FULL mode does the same, but inside the write lock and for each commit alone."""

    def __init__(self, path: Path, offload: Offload, clock: Clock) -> None:
        self._path = path
        self._offload = offload
        self._clock = clock
        self._handle = -1
        self._seconds = 0.0
        self._under_way: asyncio.Future[None] | None = None
        self._next: asyncio.Future[None] | None = None

    async def reach_disk(self) -> None:
        """Return once everything committed before this call is on the disk; raises `JournalFailed`."""
        if self._under_way is None and self._seconds <= QUICK_SECONDS:
            self._flush()
            return
        if self._next is None:
            self._next = begin(self._flush_apart())
        await asyncio.shield(self._next)

    async def _flush_apart(self) -> None:
        """Wait for the current flush, which began too early for this caller, then flush for all later callers."""
        if self._under_way is not None:
            await asyncio.wait([self._under_way])
        self._under_way, self._next = self._next, None
        try:
            await self._offload.run(self._flush)
        finally:
            self._under_way = None

    def _flush(self) -> None:
        begun = self._clock.monotonic()
        try:
            if self._handle < 0:
                self._handle = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            _to_disk(self._handle)
        except OSError as error:
            raise JournalFailed(f"{self._path}: committed data cannot be flushed to disk: {error}") from error
        # The average time of this disk decides whether a flush may block the event loop.
        self._seconds += (self._clock.monotonic() - begun - self._seconds) / 8

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _to_disk(handle: int) -> None:
    if hasattr(fcntl, "F_FULLFSYNC"):
        # On macOS a plain sync stops at the drive's cache.
        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(handle)
