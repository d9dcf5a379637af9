"""`Tracker`: follows one session, keeps its projection current, and passes on the events of each change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from typing import Protocol

from bridle.core.events import CallMoved, Entry
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Prompt
from bridle.core.states import Waiting
from bridle.errors import BridleError, NoSuchSession
from bridle.runtime.project import Backend
from bridle.surfaces.server.opencode import events, shapes
from bridle.surfaces.server.opencode.diffs import file_diffs
from bridle.surfaces.server.opencode.projection import IDLE, Projection
from bridle.surfaces.server.opencode.prompt_notes import note_of

LOG = logging.getLogger(__name__)


class Host(Protocol):
    """Receives the events of trackers."""

    def publish(self, directory: str, told: Sequence[events.Told]) -> None:
        """Pass events on to all readers."""

    async def track(self, session: str, after: int | None = None) -> Tracker:
        """Follow a session, and report the changes after this entry; by default, only new ones."""


class Tracker:
    """One followed session. Its projection is the state that clients have been told."""

    def __init__(self, session: str, backend: Backend, host: Host) -> None:
        self.session, self.backend = session, backend
        self.projection = Projection(session)
        self.touched = asyncio.get_running_loop().time()
        """When the session last changed, in the loop's time."""
        self.is_over = False
        self._host = host
        self._stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self, after: int | None) -> None:
        """Read the record so far, report the changes after `after`, and follow; raises `NoSuchSession`."""
        for entry in await self.backend.entries(self.session):
            told = self.projection.of_entry(entry)
            if after is not None and entry.sequence > after:
                self.tell(told)
        told = await show_waiting(self.backend, self.projection)
        if after is not None:
            self.tell(told)
        await self.look()
        self._task = asyncio.create_task(self._follow())

    async def look(self) -> None:
        """Tell that the session is idle if the process that drove it has died."""
        before = self.projection.sequence
        if self.is_idle or (await self.backend.status(self.session)).state != "interrupted":
            return
        if self.projection.sequence == before and (told := self.projection.leave()):
            self.tell(told)

    def stop(self) -> None:
        """End following."""
        if not self._stop.done():
            self._stop.set_result(None)

    async def ended(self) -> None:
        """Stop, and wait for the end."""
        self.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def tell(self, told: Sequence[events.Told]) -> None:
        """Pass on events, and wake those that wait for a change."""
        self.touched = asyncio.get_running_loop().time()
        if told:
            self._host.publish(self.projection.info.directory, told)
        self._changed.set()

    async def changed(self) -> None:
        """Return once something has changed after this call, or following has ended."""
        if not self.is_over:
            self._changed.clear()
            await self._changed.wait()

    async def reach(self, sequence: int) -> None:
        """Return once everything up to this entry has been told."""
        while self.projection.sequence < sequence and not self.is_over:
            await self.changed()

    @property
    def is_idle(self) -> bool:
        """Whether the session has no open turn."""
        return self.projection.status == IDLE

    async def _follow(self) -> None:
        after = self.projection.sequence
        try:
            async with aclosing(self.backend.follow(self.session, after, until=self._stop)) as found:
                async for event in found:
                    if isinstance(event, Entry):
                        await self._entry(event)
                    elif told := self.projection.of_delta(event):
                        self.tell(told)
        except NoSuchSession:
            # It was deleted; the deletion is told by its own request.
            LOG.debug("session %s is gone", self.session)
        except BridleError:
            LOG.exception("session %s cannot be followed", self.session)
        finally:
            self.is_over = True
            self._changed.set()

    async def _entry(self, entry: Entry) -> None:
        before = self.projection.changes
        told: list[events.Told] = list(self.projection.of_entry(entry))
        moves = [each.state for each in entry.events if isinstance(each, CallMoved)]
        children = [state.child for state in moves if isinstance(state, Waiting)]
        if self.projection.changes != before:
            told.append(events.SessionDiff(sessionID=self.projection.name, diff=await self.diff()))
        self.tell(told)
        for child in children:
            try:
                await self._host.track(child, 0)
            except NoSuchSession:
                # Its session is about to be made; the next look at all sessions finds it.
                LOG.debug("subagent %s does not exist yet", child)

    async def diff(self, turn: int = 0) -> tuple[shapes.FileDiff, ...]:
        """Return the changed files of the session, or of one turn; empty if they are not known."""
        return await diff_of(self.backend, self.session, turn)


async def show_waiting(backend: Backend, projection: Projection) -> list[events.Event]:
    """Show the prompts of clients that no turn has taken yet; those of other surfaces show once they are taken."""
    told: list[events.Event] = []
    for item in await backend.pending_prompts(projection.session):
        if note_of(item.metadata, projection.session) is not None:
            prompt = Prompt(item.id, item.text, item.files, metadata=item.metadata)
            options = item.options or TurnOptions()
            told += projection.submitted(prompt, options.agent or "", options.model or "")
    return told


async def diff_of(backend: Backend, session: str, turn: int = 0) -> tuple[shapes.FileDiff, ...]:
    """Return the changed files of a session or of one turn; empty if they are not known."""
    try:
        return file_diffs(await backend.diff(session, turn))
    except NoSuchSession:
        raise
    except BridleError as error:
        LOG.info("the changes of session %s are not known: %s", session, error)
        return ()
