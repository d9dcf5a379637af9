"""Supervised subprocesses with streaming output. Finishes even if a grandchild process keeps the pipe open."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from bridle.process.egress_proxy import EgressProxy
from bridle.process.protected_places import PlaceWatch
from bridle.process.supervision import Supervised
from bridle.seams import begin

CHUNK = 65_536
LONGEST = 1 << 20
DRAIN_SECONDS = 0.3


class OutputStream:
    """A running command. `end` must be called, and may be called twice; reading starts with the first await."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        bounds: Mapping[str, int] | None = None,
        given: int | None = None,
        apart: bool = False,
        egress_proxy: EgressProxy | None = None,
        passes: Sequence[int] = (),
        watch: PlaceWatch | None = None,
    ) -> None:
        """`apart` reads standard error separately from standard output. The egress proxy ends with the command."""
        self._egress_proxy = egress_proxy
        self.output = asyncio.StreamReader(limit=LONGEST)
        self.errors = asyncio.StreamReader(limit=LONGEST) if apart else self.output
        readers = [self.output, self.errors][: 2 if apart else 1]
        pipes = [os.pipe() for _ in readers]
        try:
            self.owned = Supervised(
                command,
                folder=folder,
                output=pipes[0][1],
                errors=pipes[-1][1],
                given=given,
                passes=(*passes, *([egress_proxy.handle] if egress_proxy is not None else [])),
                environment=environment,
                bounds=bounds,
                watch=watch,
            )
        except BaseException:
            for mine, _ in pipes:
                os.close(mine)
            if egress_proxy is not None:
                egress_proxy.drop()
            raise
        finally:
            for _, theirs in pipes:
                os.close(theirs)
            if egress_proxy is not None:
                egress_proxy.started()
        self._transports: list[asyncio.ReadTransport] = []
        self._connected = begin(self._connect([mine for mine, _ in pipes], readers))

    async def _connect(self, handles: list[int], readers: list[asyncio.StreamReader]) -> None:
        loop = asyncio.get_running_loop()
        for handle, reader in zip(handles, readers, strict=True):
            pipe = os.fdopen(handle, "rb", buffering=0)
            transport, _ = await loop.connect_read_pipe(partial(asyncio.StreamReaderProtocol, reader), pipe)
            self._transports.append(transport)

    async def pass_on(self, show: Callable[[str], None]) -> None:
        """Pass the output to `show`, as text, until no process holds the other end of the pipe."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while chunk := await self.output.read(CHUNK):
            show(decoder.decode(chunk))

    async def run(self, show: Callable[[str], None]) -> int:
        """Return the exit status, once the command has ended and its output was passed on."""
        passing = begin(self.pass_on(show))
        try:
            return await self.owned.wait()
        finally:
            await self.owned.end()
            # Only a process that the kernel cannot end still holds the other end: it is not awaited.
            await asyncio.wait([passing], timeout=DRAIN_SECONDS)
            passing.cancel()
            await self.end()

    async def end(self) -> None:
        """End the command with everything that it started, and stop reading."""
        await self.owned.end()
        if self._egress_proxy is not None:
            await self._egress_proxy.close()
        await asyncio.wait([self._connected])
        for transport in self._transports:
            transport.close()
