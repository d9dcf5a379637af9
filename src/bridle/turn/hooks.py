"""Hooks: commands of the user's own at certain moments of a turn; what they get is JSON on standard input."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from bridle.config.settings import HookEvent, HookSettings
from bridle.core.permission import matches
from bridle.process.owned import Owned
from bridle.turn.rig import Rig
from bridle.turn.scope import Aborted, Late

MOST_SAID = 4_000
CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Said:
    """What came of one hook."""

    command: str
    status: int | None
    """None if its time was up."""
    text: str

    @property
    def words(self) -> str:
        if self.status is None:
            return f"the hook {self.command!r} took too long"
        return self.text.strip() or f"the hook {self.command!r} ended with {self.status}"


async def fire(rig: Rig, event: HookEvent, tool: str = "", **more: Any) -> list[Said]:
    """Run the hooks for a moment, one after the other; those that did not end with 0. None after an abort."""
    failed: list[Said] = []
    for hook in rig.tack.hooks:
        if hook.on != event or (tool and not matches(hook.tool, tool)):
            continue
        payload = {
            "event": event,
            "session": rig.record.lease.session,
            "turn": rig.turn.start.number,
            "directory": str(rig.tack.directory),
            **({"tool": tool} if tool else {}),
            **more,
        }
        said = await rig.scope.run(_run(rig, hook, payload), hook.seconds)
        if isinstance(said, Aborted):
            return []
        if isinstance(said, Late):
            said = Said(hook.command, None, "")
        if said.status != 0:
            failed.append(said)
    return failed


async def _run(rig: Rig, hook: HookSettings, payload: Mapping[str, Any]) -> Said:
    with tempfile.TemporaryFile() as given:
        given.write(msgspec.json.encode(payload))
        given.seek(0)
        output, into = os.pipe()
        try:
            owned = Owned(
                ["/bin/sh", "-c", hook.command],
                folder=rig.tack.directory,
                output=into,
                given=given.fileno(),
                environment=rig.tack.environment,
            )
        except BaseException:
            os.close(output)
            raise
        finally:
            os.close(into)
    reading = asyncio.ensure_future(_said(output))
    try:
        status = await owned.wait()
        return Said(hook.command, status, await reading)
    finally:
        await owned.end()
        reading.cancel()


async def _said(output: int) -> str:
    reader = asyncio.StreamReader()
    pipe = os.fdopen(output, "rb", buffering=0)
    protocol = partial(asyncio.StreamReaderProtocol, reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(protocol, pipe)
    kept = b""
    try:
        while block := await reader.read(CHUNK):
            kept = (kept + block)[:MOST_SAID]
    finally:
        transport.close()
    return kept.decode("utf-8", errors="replace")
