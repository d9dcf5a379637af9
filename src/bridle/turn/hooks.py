"""Hooks: the user's own commands at certain moments of a turn, with JSON on standard input."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from bridle.core.hook import HookEvent, HookSettings
from bridle.core.permission import matches
from bridle.process.containment import contain, told
from bridle.process.output_stream import OutputStream
from bridle.seams import in_thread
from bridle.tools.output_buffer import Printed
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.scope import Aborted, Late

LOG = logging.getLogger(__name__)
MOST_SAID = 4_000


@dataclass(frozen=True, slots=True)
class Said:
    """The outcome of one hook."""

    command: str
    status: int | None
    """None after a timeout."""
    text: str

    @property
    def words(self) -> str:
        if self.status is None:
            return f"the hook {self.command!r} took too long"
        return self.text.strip()[:MOST_SAID] or f"the hook {self.command!r} ended with {self.status}"


async def fire(active: ActiveTurn, event: HookEvent, **more: Any) -> list[Said]:
    """Run the hooks for an event in order; return those that did not exit with 0."""
    return [said async for said in each_hook(active, event, "", more) if said.status != 0]


async def each_hook(active: ActiveTurn, event: HookEvent, tool: str, more: Mapping[str, Any]) -> AsyncIterator[Said]:
    """Run the hooks for an event in order and yield the outcome of each. None is run after an abort.

    `more` is read again for each of them, so that one hook may see the answer of another.
    """
    for hook in active.setup.hooks:
        if hook.on != event or (tool and not matches(hook.tool, tool)):
            continue
        payload = {
            "event": event,
            "session": active.record.lease.session,
            "turn": active.turn.start.number,
            "directory": str(active.setup.commands.directory),
            **({"tool": tool} if tool else {}),
            **more,
        }
        said = await active.scope.run(_run(active, hook, payload), hook.seconds)
        if isinstance(said, Aborted):
            return
        yield Said(hook.command, None, "") if isinstance(said, Late) else said


async def _run(active: ActiveTurn, hook: HookSettings, payload: Mapping[str, Any]) -> Said:
    setup, project = active.setup, active.setup.commands.directory.resolve()
    command = ["/bin/sh", "-c", hook.command]
    environment: Mapping[str, str] | None = setup.commands.environment
    sandbox, watch = setup.commands.find_sandbox(), None
    if sandbox is not None and hook.sandbox:
        contained = await in_thread(
            lambda: contain(
                sandbox,
                project,
                project,
                setup.commands.environment,
                permits=lambda access: setup.permissions.judge(access) == "allow",
            )
        )
        command, environment, watch = [*contained.words, *command], contained.environment, contained.watch
    with tempfile.TemporaryFile() as given:
        given.write(msgspec.json.encode(payload))
        given.seek(0)
        piped = OutputStream(
            command,
            folder=project,
            given=given.fileno(),
            environment=environment,
            bounds=setup.commands.bounds,
            watch=watch,
        )
    printed = Printed()
    status = await piped.run(printed.add)
    for line in told(piped.differences(), project).splitlines():
        LOG.warning("hook %s: %s", hook.command, line)
    return Said(hook.command, status, printed.text())
